"""Comparing documents as JSON, with numbers by their text: `1`, `1.0` and `true` are three values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from approvals.jsontext.pointers import pointer
from approvals.jsontext.reading import loads


def same(a: str, b: str) -> bool:
    """Equal as JSON, whatever the white space, the order of names and the way strings are escaped."""
    return a == b or next(_differences(loads(a), loads(b)), None) is None


def changed_paths(before: str, after: str) -> list[str]:
    """The pointers of the smallest changed places: in the order of `before`, what is new behind its siblings."""
    return list(_differences(loads(before), loads(after)))


def _differences(before: Any, after: Any) -> Iterator[str]:
    todo: list[tuple[str, Any, Any]] = [("", before, after)]
    while todo:
        path, old, new = todo.pop()
        if type(old) is not type(new) or not isinstance(old, dict | list):
            if type(old) is not type(new) or old != new:
                yield path
            continue
        old, new = _by_name(old), _by_name(new)
        names = list(old) + [name for name in new if name not in old]
        todo.extend((path + pointer(n), old.get(n, ...), new.get(n, ...)) for n in reversed(names))


def _by_name(container: dict[str, Any] | list[Any]) -> dict[Any, Any]:
    return container if isinstance(container, dict) else dict(enumerate(container))

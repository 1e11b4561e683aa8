"""JSON Patch (RFC 6902) on values whose numbers keep their text: all of a patch or nothing (C-19).

A patch changes the value in place and is undone when an operation fails, so that a long stream of small deltas on a
large state costs what the deltas cost, not what the state is large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from approvals import jsontext
from approvals.jsontext import Number

OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")
MOST_COPIED = 4 * 2**20  # characters, or members of objects: forty copies of the whole into itself fit in no memory
SHIFTED_AT_ONCE = 256  # items of a list that move as fast as one character is copied
Undo = list[Callable[[], Any]]


class PatchError(ValueError):
    """The patch does not apply, or is none; the value is as it was."""


class Copies:
    """What costs more than the stream is long has an end: one count for all patches of a stream."""

    def __init__(self) -> None:
        self._made = 0

    def count(self, more: int = 0) -> None:
        self._made += more
        if self._made > MOST_COPIED:
            raise PatchError("the patches of this stream copy too much")


class Patched:
    """A JSON value under patches."""

    def __init__(self, value: Any, copies: Copies | None = None) -> None:
        self.value = value
        self._copies = copies or Copies()

    def apply(self, operations: list[Any]) -> list[str]:
        """Apply all; returns the names of unknown operations, which are left out. Raises PatchError."""
        unknown = [_checked(operation) for operation in operations]
        undo: Undo = []
        try:
            for operation in operations:
                if operation["op"] in OPERATIONS:
                    self._one(operation, undo)
        except PatchError:
            for step in reversed(undo):
                step()
            raise
        return [name for name in unknown if name]

    def _one(self, operation: dict[str, Any], undo: Undo) -> None:
        op, path = operation["op"], _parts(operation["path"])
        if op == "test":
            if not equal(self._get(path), operation["value"]):
                raise PatchError(f"the test at {operation['path']!r} fails")
        elif op == "remove":
            self._remove(path, undo)
        elif op == "replace":
            self._get(path)
            self._replace(path, operation["value"], undo)
        elif op == "add":
            self._add(path, operation["value"], undo)
        else:
            self._from(op, _parts(operation["from"]), path, undo)

    def _from(self, op: str, source: list[str], path: list[str], undo: Undo) -> None:
        value = self._get(source)
        if op == "copy":
            self._copies.count()
            text = jsontext.dumps(value)
            self._copies.count(len(text))
            self._add(path, jsontext.loads(text), undo)  # deepcopy recurses
        elif source != path:
            if path[: len(source)] == source:
                raise PatchError("a value cannot be moved into itself")
            self._remove(source, undo)
            self._add(path, value, undo)

    def _get(self, path: list[str]) -> Any:
        value = self.value
        for part in path:
            value = value[_key(value, part)]
        return value

    def _add(self, path: list[str], value: Any, undo: Undo) -> None:
        parent = self._get(path[:-1])
        if not path or isinstance(parent, dict):
            self._set(path, value, undo)
        elif isinstance(parent, list):
            place = len(parent) if path[-1] == "-" else _index(path[-1], len(parent) + 1)
            self._copies.count((len(parent) - place) // SHIFTED_AT_ONCE)
            parent.insert(place, value)
            undo.append(lambda: parent.pop(place))
        else:
            raise PatchError(f"nothing can be added at {jsontext.pointer(*path)!r}")

    def _replace(self, path: list[str], value: Any, undo: Undo) -> None:
        parent = self._get(path[:-1])
        if path and isinstance(parent, list):
            place = _index(path[-1], len(parent))
            before = parent[place]
            parent[place] = value
            undo.append(lambda: parent.__setitem__(place, before))
        else:
            self._set(path, value, undo)

    def _set(self, path: list[str], value: Any, undo: Undo) -> None:
        """A member of an object, or the whole."""
        if not path:
            whole = self.value
            self.value = value
            undo.append(lambda: setattr(self, "value", whole))
            return
        parent, name = self._get(path[:-1]), path[-1]
        if name in parent:
            before = parent[name]
            undo.append(lambda: parent.__setitem__(name, before))
        else:
            undo.append(lambda: parent.pop(name))
        parent[name] = value

    def _remove(self, path: list[str], undo: Undo) -> None:
        if not path:
            raise PatchError("the whole cannot be removed")
        parent = self._get(path[:-1])
        key = _key(parent, path[-1])
        before = parent[key]
        if isinstance(parent, list):
            self._copies.count((len(parent) - key) // SHIFTED_AT_ONCE)
            undo.append(lambda: parent.insert(key, before))
        else:
            self._copies.count(len(parent))
            members = dict(parent)  # to put the member back where it stood
            undo.append(lambda: (parent.clear(), parent.update(members)))
        del parent[key]


def _checked(operation: Any) -> str:
    """ "" for a known operation, the name of an unknown one; PatchError for what is none."""
    if not isinstance(operation, dict) or type(op := operation.get("op")) is not str:
        raise PatchError("an operation has no name")
    if op not in OPERATIONS:
        return op
    _parts(operation.get("path"))
    if op in ("move", "copy"):
        _parts(operation.get("from"))
    if op in ("add", "replace", "test") and "value" not in operation:
        raise PatchError(f"“{op}” has no value")
    return ""


def _parts(path: Any) -> list[str]:
    if type(path) is not str:
        raise PatchError("an operation has no path")
    try:
        return jsontext.parts(path)
    except ValueError as error:
        raise PatchError(str(error)) from error


def _key(container: Any, part: str) -> Any:
    """The name or index that a part means in a container that has it."""
    if isinstance(container, list):
        return _index(part, len(container))
    if isinstance(container, dict) and part in container:
        return part
    raise PatchError(f"there is no {part!r}")


def _index(part: str, length: int) -> int:
    if not (part.isascii() and part.isdigit()) or (part[0] == "0" and part != "0") or int(part[:12]) >= length:
        raise PatchError(f"there is no item {part!r}")
    return int(part)


def equal(a: Any, b: Any) -> bool:
    """Equal as RFC 6902 tests: numbers by value, everything else by type and content."""
    todo = [(a, b)]
    while todo:
        one, other = todo.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, dict):
            if one.keys() != other.keys():
                return False
            todo.extend((value, other[name]) for name, value in one.items())
        elif isinstance(one, list):
            if len(one) != len(other):
                return False
            todo.extend(zip(one, other, strict=True))
        elif jsontext.plain(one) != jsontext.plain(other) if isinstance(one, Number) else one != other:
            return False
    return True

"""Writing JSON: values compactly, texts indented."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from approvals.jsontext.reading import parse
from approvals.jsontext.values import Number

_quote = json.JSONEncoder(ensure_ascii=False).encode
_UNSAFE = re.compile("[\ud800-\udfff\u2028\u2029]")  # not in UTF-8, or line ends to JavaScript and SSE readers
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_UNSENDABLE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')

DEEPEST_INDENT = 64  # a hundred thousand brackets must not become gigabytes of spaces


def dumps(value: Any) -> str:
    """Compact JSON: a `Number` as its text, non-ASCII readable. NaN and infinities are a `ValueError`."""
    out: list[str] = []
    todo: list[Iterator[tuple[str, Any]]] = [iter([("", value)])]
    closing = [""]
    while todo:
        lead, item = next(todo[-1], (None, None))
        if lead is None:
            todo.pop()
            out.append(closing.pop())
            continue
        out.append(lead)
        if isinstance(item, dict):
            out.append("{")
            closing.append("}")
            todo.append(_leads_of_members(item))
        elif isinstance(item, list | tuple):
            out.append("[")
            closing.append("]")
            todo.append(("," if place else "", child) for place, child in enumerate(item))
        else:
            out.append(_scalar(item))
    return "".join(out)


def _leads_of_members(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for place, (name, item) in enumerate(value.items()):
        if not isinstance(name, str):
            raise TypeError(f"a JSON name must be a string, not {name!r}")
        yield f"{',' if place else ''}{_string(name)}:", item


def _scalar(value: Any) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return _string(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        raise ValueError(f"JSON has no {value}")
    if isinstance(value, int | float | Decimal):
        return str(value)
    raise TypeError(f"JSON has no {type(value).__name__}")


def _string(text: str) -> str:
    return _escaped(_UNSAFE, _quote(text))


def printable(text: str) -> str:
    """Text that can be sent as UTF-8: half a surrogate pair stands there as the escape that JSON has for it."""
    return _escaped(_UNSENDABLE, text)


def storable(text: str) -> str:
    """The same for a database's column of text, which takes no NUL either."""
    return _UNSTORABLE.sub(_escape, text)


def _escaped(unfit: re.Pattern[str], text: str) -> str:
    """ASCII holds none of what does not fit, and Python knows of every text whether it is: megabytes are not read."""
    return text if text.isascii() else unfit.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def pretty(text: str) -> str:
    """Re-indented by two spaces a level; every name and scalar keeps its bytes. Raises `JSONTextError`."""
    parse(text)
    out: list[str] = []
    depth = 0
    previous = ""
    for word in _WORD.findall(text):
        empty = word in "}]" and previous in ("{", "[")
        depth -= word in "}]"
        if not empty and (word in "}]" or previous in ("{", "[", ",")):
            out.append("\n" + "  " * min(depth, DEEPEST_INDENT))
        depth += word in "{["
        out.append(": " if word == ":" else word)
        previous = word
    return "".join(out)

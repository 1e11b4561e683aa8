"""Patterns as JSON Schema means them, in ECMA-262, written for the `regex` module. Pure.

Python reads some of the same signs otherwise: its `\\d` takes every digit of Unicode, its `$` stands before a line end
too, so that `^[0-9]+$` takes a text that the agent then refuses. A pattern that opens with flags, `(?i)…`, was written
for Python and stays as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache

BLANKS = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
NOT_BLANKS = (
    r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
    r"\u3001-\ufefe\uff00-\U0010ffff"
)
INSIDE = {  # what a class escape means between brackets
    "d": "0-9", "D": r"\x00-/:-\U0010ffff", "w": "A-Za-z0-9_", "W": r"\x00-/:-@\[-\^`{-\U0010ffff",
    "s": BLANKS, "S": NOT_BLANKS,
}  # fmt: skip
_EDGE = "(?:(?<=[{0}])(?![{0}])|(?<![{0}])(?=[{0}]))".format(INSIDE["w"])
_NO_EDGE = "(?:(?<=[{0}])(?=[{0}])|(?<![{0}])(?![{0}]))".format(INSIDE["w"])
OUTSIDE = {**{name: f"[{inside}]" for name, inside in INSIDE.items()}, "b": _EDGE, "B": _NO_EDGE}
PLAIN = {".": r"[^\n\r\u2028\u2029]", "$": r"\Z", "[]": "(?!)", "[^]": r"[\x00-\U0010ffff]"}

_FLAGS = re.compile(r"\(\?[a-zA-Z]+\)")
_NUMBERED = (
    r"\\u\{(?P<point>[0-9a-fA-F]{1,6})\}|\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\c(?P<control>[A-Za-z])|(?P<other>\\[pP]\{[^}]*\}|\\[^dDwWsSbBk]|\\k(?!<))"
)
_OUTSIDE = re.compile(
    _NUMBERED + r"|\\k<(?P<name>\w+)>|\\(?P<escape>[dDwWsSbB])|(?P<class>\[(?:\^(?!\])|(?![\^\]]))(?:\\.|[^\\\]])*\])"
    r"|(?P<sign>\[\^?\]|[.$])|(?P<count>\{\d+(?:,\d*)?\})|(?P<brace>\{)",
    re.DOTALL,
)
_IN_CLASS = re.compile(
    _NUMBERED + r"|(?P<before>-)(?=\\[dDwWsSpP])|\\(?P<escape>[dDwWsS])(?P<after>-?)|(?P<back>\\b)|(?P<bracket>\[)",
    re.DOTALL,
)


@lru_cache(maxsize=1024)
def translated(pattern: str) -> str:
    """The same pattern for `regex.search`; what ECMA-262 does not know is left to the module."""
    return pattern if _FLAGS.match(pattern) else _OUTSIDE.sub(_outside, pattern)


def _outside(found: re.Match[str]) -> str:
    if found["class"]:
        lead = 2 if found["class"].startswith("[^") else 1
        return found["class"][:lead] + _IN_CLASS.sub(_in_class, found["class"][lead:])
    if found["escape"]:
        return OUTSIDE[found["escape"]]
    if found["sign"]:
        return PLAIN[found["sign"]]
    if found["name"]:
        return f"(?P={found['name']})"
    return r"\{" if found["brace"] else _character(found)


def _in_class(found: re.Match[str]) -> str:
    if found["escape"]:
        return INSIDE[found["escape"]] + (r"\-" if found["after"] else "")  # no range begins at a class
    if found["before"]:
        return r"\-"
    if found["bracket"]:
        return r"\["
    return r"\x08" if found["back"] else _character(found)


def _character(found: re.Match[str]) -> str:
    """One character that is written by its number; anything else as it stands."""
    if found["point"]:
        return _written(int(found["point"], 16))
    if found["high"]:
        return _written(0x10000 + (int(found["high"], 16) - 0xD800 << 10) + int(found["low"], 16) - 0xDC00)
    return f"\\x{ord(found['control']) % 32:02x}" if found["control"] else found[0]


def _written(point: int) -> str:
    return f"\\U{point:08x}"

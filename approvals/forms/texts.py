"""What survives a trip through an HTML control, and how values are written into one."""

from __future__ import annotations

import math
import re
from typing import Any

from approvals import jsontext
from approvals.jsontext import Number

NULL_VALUE = "\ue000null"  # posted in a control's place for JSON null; a private character, so that nobody types it
# NUL, most other controls and lone surrogates do not come back from a browser as they were sent to it.
_FRAGILE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_UNMISTAKABLE = re.compile(r"[^\s\"'](.{0,78}[^\s\"'])?")
_RUNS = re.compile(r"\s*(javascript|vbscript|data):", re.IGNORECASE)
LONG = 70  # characters from which a text gets several lines


def is_fragile(text: str) -> bool:
    return _FRAGILE.search(text) is not None


def is_fragile_name(text: str) -> bool:
    """Names stand in attributes, where browsers change line ends."""
    return is_fragile(text) or "\n" in text or "\r" in text


def has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text


def runs(text: str) -> bool:
    """Whether it is an address that a browser would run if it ever stood in the wrong attribute: it stands in none."""
    return _RUNS.match(text) is not None


def normal(text: str) -> str:
    """Browsers post CRLF for every line end: compared and stored with LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def number(typed: str) -> str | None:
    """The number as typed, or None if JSON does not write numbers so."""
    text = typed.strip()
    return text if _NUMBER.fullmatch(text) else None


def is_beyond(number: str) -> bool:
    """Whether common programs would read it as infinite."""
    return not math.isfinite(float(number))


def is_whole(number: str) -> bool:
    """Whether a number is written as digits only: `3.0` and `3e0` are floats to many programs."""
    return number.removeprefix("-").isdecimal()


def label(value: Any) -> str:
    """A value as the text of an option: a string stands bare only if it cannot be taken for anything else."""
    text = jsontext.dumps(value)
    if not isinstance(value, str) or isinstance(value, Number):
        return text
    plain = _UNMISTAKABLE.fullmatch(value) and not is_fragile(value)
    return value if plain and value not in ("true", "false", "null") and number(value) is None else text

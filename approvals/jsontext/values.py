"""What JSON values are here, and what is said about a text that is no JSON."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

LONGEST_INT = 4000  # Python refuses to convert longer ones (CVE-2020-10735); a Decimal takes them


class JSONTextError(ValueError):
    """This text is not JSON: `reason` says what, `position` (and `line`, `column`, from 1) says where."""

    def __init__(self, reason: str, text: str, position: int) -> None:
        self.reason = reason
        self.position = position
        self.line = text.count("\n", 0, position) + 1
        self.column = position - (text.rfind("\n", 0, position) + 1) + 1
        super().__init__(f"{reason} (line {self.line}, column {self.column})")


class Number(str):
    """A JSON number as written. It equals only a number of the same text, never a string."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"Number({str.__repr__(self)})"


def plain(value: Any) -> Any:
    """The same value with `int` or `Decimal` for each `Number`: what is checked, never what is sent."""
    top: list[Any] = [value]
    todo: list[Any] = [top]
    while todo:
        container = todo.pop()
        for key, item in list(container.items() if isinstance(container, dict) else enumerate(container)):
            if isinstance(item, Number):
                container[key] = _number(item)
            elif isinstance(item, dict | list):
                container[key] = item.copy()
                todo.append(container[key])
    return top[0]


def _number(text: str) -> int | Decimal:
    if len(text) <= LONGEST_INT and text.lstrip("-").isdigit():
        return int(text)
    try:
        return Decimal(text)
    except InvalidOperation:
        return _beyond_decimal(text)


def _beyond_decimal(text: str) -> Decimal:
    """An exponent of more than 18 digits: the nearest number that still compares."""
    mantissa, _, exponent = text.lower().partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    if not mantissa.strip("-0."):
        return Decimal(0)
    return Decimal(f"{sign}1e{'-' if exponent.startswith('-') else ''}{10**17}")

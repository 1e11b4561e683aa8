"""The keywords of JSON Schema that Python answers wrongly or without a time limit, done right.

Pure. Python thinks `True == 1` and that 19.99 is no multiple of 0.01, and its `re` can be made to run for hours; the
`regex` module takes a time limit, and reads the `\\p{…}` and `(?<name>…)` of the patterns that `ecma` hands it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import uuid
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from datetime import date, datetime, time
from decimal import Decimal
from math import prod
from typing import Any

import regex
from jsonschema import FormatChecker
from jsonschema.exceptions import ValidationError
from referencing.jsonschema import lookup_recursive_ref

from approvals.validation import ecma

pattern_seconds: ContextVar[float] = ContextVar("pattern_seconds", default=0.1)
FORMATS = FormatChecker(formats=())

Failures = Iterator[ValidationError]
RFC3339_TIME = r"\d\d:[0-5]\d:\d\d(\.\d+)?(z|[+-]\d\d:[0-5]\d)"


def matches(pattern: str, text: str) -> bool:
    """`TimeoutError` after `pattern_seconds`, `regex.error` if the pattern is none."""
    return regex.search(ecma.translated(pattern), text, timeout=pattern_seconds.get()) is not None


def is_plain(pattern: Any) -> bool:
    """Whether compiling it is no work: `((a{1000}){1000}){1000}` fills the memory before it is ever tried."""
    if not isinstance(pattern, str) or len(pattern) > 200:
        return False
    counts = regex.findall(r"\{([0-9]*),?([0-9]*)\}", pattern)
    return prod(max(1, *(int(bound or 1) for bound in pair)) for pair in counts) <= 1000


def is_number(checker: Any, value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def is_integer(checker: Any, value: Any) -> bool:
    """`1.0` is an integer since draft-06."""
    return value == value.to_integral_value() if isinstance(value, Decimal) else is_number(checker, value)


def comparable(value: Any) -> Any:
    """A hashable that is equal exactly for equal JSON values: `1` is `1.0`, `true` is neither."""
    if isinstance(value, dict):
        return ("object", frozenset((name, comparable(item)) for name, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(comparable(item) for item in value))
    kind = "number" if is_number(None, value) else type(value).__name__
    return (kind, value)


def type_(validator: Any, types: str | list[str], value: Any, schema: Any) -> Failures:
    """As the library's own, but it writes the whole value into its message, however large or deep."""
    if not any(validator.is_type(value, one) for one in ([types] if isinstance(types, str) else types)):
        yield ValidationError("of another type")


def enum(validator: Any, allowed: list[Any], value: Any, schema: Any) -> Failures:
    if comparable(value) not in {comparable(one) for one in allowed}:
        yield ValidationError("not one of the allowed values")


def const(validator: Any, wanted: Any, value: Any, schema: Any) -> Failures:
    if comparable(value) != comparable(wanted):
        yield ValidationError("not the one allowed value")


def unique_items(validator: Any, wanted: bool, value: Any, schema: Any) -> Failures:
    if wanted and isinstance(value, list) and len({comparable(item) for item in value}) < len(value):
        yield ValidationError("repeated items")


def multiple_of(validator: Any, step: int | Decimal, value: Any, schema: Any) -> Failures:
    if is_number(None, value) and not is_multiple(value, step):
        yield ValidationError("not a multiple")


def is_multiple(value: int | Decimal, step: int | Decimal) -> bool:
    """Exact for exponents of any size: 10^n is never written out where n is not bounded by the digits given."""
    left, left_exponent = _digits(value)
    right, right_exponent = _digits(step)
    if left == 0:
        return True
    shift = left_exponent - right_exponent
    if shift >= 0:
        return left * pow(10, shift, right) % right == 0
    return -shift <= Decimal(left).adjusted() and left % (right * 10**-shift) == 0


def _digits(number: int | Decimal) -> tuple[int, int]:
    _, digits, exponent = Decimal(number).as_tuple()
    return int(Decimal((0, digits, 0))), int(exponent)


def pattern(validator: Any, wanted: str, value: Any, schema: Any) -> Failures:
    if isinstance(value, str) and not matches(wanted, value):
        yield ValidationError("does not match the pattern")


def pattern_properties(validator: Any, patterns: dict[str, Any], value: Any, schema: Any) -> Failures:
    for wanted, inner in patterns.items() if isinstance(value, dict) else ():
        for name, item in value.items():
            if matches(wanted, name):
                yield from validator.descend(item, inner, path=name, schema_path=wanted)


def additional_properties(validator: Any, inner: Any, value: Any, schema: Any) -> Failures:
    for name in list(value) if isinstance(value, dict) else ():
        if name in schema.get("properties", {}) or any(
            matches(one, name) for one in schema.get("patternProperties", {})
        ):
            continue
        if inner is False:
            yield ValidationError("a member too many", path=[name])
        else:
            yield from validator.descend(value[name], inner, path=name)


def required(validator: Any, names: list[str], value: Any, schema: Any) -> Failures:
    """Each missing member at its own place, so that the form can point at it."""
    for name in names if isinstance(value, dict) else ():
        if name not in value:
            yield ValidationError("a member is missing", path=[name])


def dependent_required(validator: Any, named: dict[str, Any], value: Any, schema: Any) -> Failures:
    """Each missing member at its own place. A schema instead of names is what `dependencies` had."""
    for name, wanted in named.items() if isinstance(value, dict) else ():
        if name not in value:
            continue
        if isinstance(wanted, list):
            yield from (ValidationError("a member is missing", path=[one]) for one in wanted if one not in value)
        else:
            yield from validator.descend(value, wanted, schema_path=name)


def property_names(validator: Any, inner: Any, value: Any, schema: Any) -> Failures:
    """Each name that may not be, at the member that has it."""
    names = validator.evolve(schema=inner)
    for name in value if isinstance(value, dict) else ():
        if not names.is_valid(name):
            yield ValidationError("a name that may not be", path=[name])


def unevaluated_properties(validator: Any, inner: Any, value: Any, schema: Any) -> Failures:
    if not isinstance(value, dict):
        return
    seen = _evaluated(validator, value, {name: one for name, one in schema.items() if name != "unevaluatedProperties"})
    for name in value.keys() - seen:
        if inner is False:
            yield ValidationError("a member too many", path=[name])
        else:
            yield from validator.descend(value[name], inner, path=name)


def _evaluated(validator: Any, value: dict[str, Any], schema: Any) -> set[str]:
    """The members that some keyword of this schema, or of one that applies in place, has looked at."""
    if not isinstance(schema, dict):
        return set()
    seen = set(schema.get("properties", {})) & set(value)
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return set(value)
    seen |= {name for one in schema.get("patternProperties", {}) for name in value if matches(one, name)}
    for inner, evolved in _in_place(validator, value, schema):
        seen |= _evaluated(evolved, value, inner)
    return seen


def _in_place(validator: Any, value: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in schema:
            found = validator._resolver.lookup(schema[keyword])
            yield found.contents, validator.evolve(schema=found.contents, _resolver=found.resolver)
    if "$recursiveRef" in schema:
        found = lookup_recursive_ref(validator._resolver)
        yield found.contents, validator.evolve(schema=found.contents, _resolver=found.resolver)
    candidates = [one for keyword in ("allOf", "anyOf", "oneOf") for one in schema.get(keyword, [])]
    candidates += [one for name, one in schema.get("dependentSchemas", {}).items() if name in value]
    if "if" in schema:
        holds = validator.evolve(schema=schema["if"]).is_valid(value)
        candidates += [schema["if"]] if holds else []
        candidates += [schema["then" if holds else "else"]] if ("then" if holds else "else") in schema else []
    yield from ((one, validator) for one in candidates if validator.evolve(schema=one).is_valid(value))


KEYWORDS: dict[str, Callable[..., Failures]] = {
    "additionalProperties": additional_properties,
    "const": const,
    "dependencies": dependent_required,
    "dependentRequired": dependent_required,
    "enum": enum,
    "multipleOf": multiple_of,
    "pattern": pattern,
    "patternProperties": pattern_properties,
    "propertyNames": property_names,
    "required": required,
    "type": type_,
    "unevaluatedProperties": unevaluated_properties,
    "uniqueItems": unique_items,
}


def _format(name: str) -> Callable[[Callable[[str], object]], Callable[[str], object]]:
    """Check a format by parsing; formats not named here never refuse an answer (T-30)."""

    def add(read: Callable[[str], object]) -> Callable[[str], object]:
        def conforms(value: object) -> bool:
            return not isinstance(value, str) or read(value) is not False

        FORMATS.checks(name, raises=(ValueError, regex.error))(conforms)
        return read

    return add


@_format("date")
def _date(text: str) -> object:
    return regex.fullmatch(r"\d{4}-\d\d-\d\d", text, regex.ASCII) is not None and date.fromisoformat(text)


@_format("time")
def _time(text: str) -> object:
    return regex.fullmatch(RFC3339_TIME, text.lower(), regex.ASCII) is not None and time.fromisoformat(_second(text))


@_format("date-time")
def _date_time(text: str) -> object:
    shaped = regex.fullmatch(r"\d{4}-\d\d-\d\d[t ]" + RFC3339_TIME, text.lower(), regex.ASCII)
    return shaped is not None and datetime.fromisoformat(text[:11] + _second(text[11:]))


def _second(text: str) -> str:
    """Without the fraction, and with a leap second as the second before it: Python reads neither whole."""
    return regex.sub(r"\.\d+", "", text).upper().replace(":60", ":59").replace("Z", "+00:00")


@_format("email")
def _email(text: str) -> object:
    return regex.fullmatch(r'([^@\s]+|"[^"\\\r\n]+")@[^@\s]+', text) is not None


@_format("uuid")
def _uuid(text: str) -> object:
    return regex.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) is not None and uuid.UUID(text)


@_format("ipv4")
def _ipv4(text: str) -> object:
    return ipaddress.IPv4Address(text)


@_format("ipv6")
def _ipv6(text: str) -> object:
    return "%" not in text and ipaddress.IPv6Address(text)


@_format("regex")
def _regex(text: str) -> object:
    with contextlib.suppress(OverflowError):
        return regex.compile(ecma.translated(text))
    return False

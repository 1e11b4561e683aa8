"""JSON Schema, wrapped once: the only way here to check an answer or edits against a schema.

No network, bounded time and size, decimals instead of floats, and sentences instead of a library's messages. A schema
that cannot be used is an `UnusableSchema` with its reason: the answer is then free JSON, never impossible (R-19, T-30).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from approvals import jsontext, schema_check, schema_worker
from approvals.schema_check import Failure, Limits
from approvals.schema_keywords import comparable
from approvals.schema_shape import local, members, resolve

__all__ = [
    "Problem",
    "UnusableSchema",
    "equal",
    "holds",
    "limits",
    "local",
    "members",
    "part",
    "problems",
    "resolve",
    "sentence",
    "usable",
]

CHEAP_BYTES = 8 * 1024
CHEAP_PRODUCT = 20_000_000  # schema bytes × value bytes that are checked here and now
COMBINING = ("allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependencies", "contains")
EXPENSIVE = (
    "pattern",
    "patternProperties",
    "$dynamicRef",
    "$recursiveRef",
    "unevaluatedProperties",
    "unevaluatedItems",
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong at one place, as a sentence for people."""

    pointer: str
    message: str


class UnusableSchema(Exception):
    """The schema cannot be used; `str()` is the sentence that says why."""


def limits() -> Limits:
    return Limits(
        schema_bytes=settings.SCHEMA_BYTES,
        schema_depth=settings.SCHEMA_DEPTH,
        pattern_seconds=settings.PATTERN_MS / 1000,
    )


def problems(schema_text: str, value_text: str) -> list[Problem]:
    """What does not fit, each at its place; `[]` = fits. Raises `UnusableSchema`, and `JSONTextError` for the value."""
    try:
        jsontext.loads(value_text)
        bounds = limits()
        validator = schema_check.prepared(schema_text, bounds)
        cheap = is_cheap(validator.schema, len(schema_text), len(value_text))
        check = schema_check.failures if cheap else schema_worker.failures
        found = check(schema_text, value_text, bounds)
    except schema_check.UnusableSchema as unusable:
        raise UnusableSchema(_reason(unusable)) from unusable
    return [Problem(failure.pointer, sentence(failure)) for failure in found]


def usable(schema_text: str) -> str | None:
    """None, or the sentence that says why this schema cannot be used."""
    try:
        schema_check.prepared(schema_text, limits())
        problems(schema_text, "{}")
    except schema_check.UnusableSchema as unusable:
        return _reason(unusable)
    except UnusableSchema as unusable:
        return str(unusable)
    return None


def equal(one: str, other: str) -> bool:
    """Equal as JSON Schema has it: numbers by their value, `true` apart from `1`."""
    values = [jsontext.plain(jsontext.loads(text)) for text in (one, other)]
    return bool(comparable(values[0]) == comparable(values[1]))


def part(root: dict[str, Any], node: Any) -> str:
    """A part of a schema as a schema of its own, with the definitions that it may refer to."""
    shared = {name: root[name] for name in ("$schema", "$defs", "definitions") if name in root}
    return jsontext.dumps({**shared, **node} if isinstance(node, dict) else node)


def holds(root: dict[str, Any], condition: Any, value_text: str) -> bool:
    """Whether a value fits a part of a schema; where that cannot be said, it does."""
    try:
        return not problems(part(root, condition), value_text)
    except UnusableSchema:
        return True


def is_cheap(schema: Any, schema_bytes: int, value_bytes: int) -> bool:
    """Whether the cost is bounded by the sizes alone: no patterns, and no choices that repeat through references."""
    if schema_bytes > CHEAP_BYTES or schema_bytes * value_bytes > CHEAP_PRODUCT:
        return False
    keywords = {keyword for node in schema_check.subschemas(schema) for keyword in node}
    combines = any(keyword in keywords for keyword in COMBINING)
    return not (keywords & set(EXPENSIVE)) and not ("$ref" in keywords and combines)


def _reason(unusable: schema_check.UnusableSchema) -> str:
    sentences = {
        "too_large": _("The schema is larger than %(detail)s bytes."),
        "too_deep": _("The schema is nested deeper than %(detail)s levels."),
        "too_many": _("The schema has more than %(detail)s parts."),
        "not_json": _("The schema is not JSON: %(detail)s."),
        "not_a_schema": _("The schema is invalid: it must be an object, true or false."),
        "invalid": _("The schema is invalid at “%(detail)s”."),
        "remote": _("The schema refers to another document (%(detail)s), and nothing is fetched here."),
        "dangling": _("The schema refers to a part it does not have: %(detail)s."),
        "endless": _("The schema refers to itself without end."),
        "slow_pattern": _("A pattern of the schema takes too long to check."),
        "too_slow": _("The schema takes too long to check."),
        "worker": _("The schema could not be checked here."),
    }
    return sentences[unusable.code] % {"detail": unusable.detail}


def sentence(failure: Failure) -> str:
    """What is wrong, in plain words; what the schema wants is named where it is short."""
    sentences = {
        "required": _("This is missing."),
        "dependentRequired": _("Something that belongs to it is missing."),
        "type": _("This must be of type %(wanted)s."),
        "enum": _("This is not one of the allowed values."),
        "const": _("Only %(wanted)s is allowed here."),
        "minimum": _("This is below the least allowed, %(wanted)s."),
        "maximum": _("This is above the most allowed, %(wanted)s."),
        "exclusiveMinimum": _("This must be more than %(wanted)s."),
        "exclusiveMaximum": _("This must be less than %(wanted)s."),
        "multipleOf": _("This must be a multiple of %(wanted)s."),
        "minLength": _("This must have at least %(wanted)s characters."),
        "maxLength": _("This must have at most %(wanted)s characters."),
        "pattern": _("This does not have the form that is asked for: %(wanted)s."),
        "format": _("This is not a valid value of the format %(wanted)s."),
        "minItems": _("There must be at least %(wanted)s items."),
        "maxItems": _("There must be at most %(wanted)s items."),
        "uniqueItems": _("No item may stand here twice."),
        "contains": _("An item that is asked for is missing."),
        "minProperties": _("There must be at least %(wanted)s members."),
        "maxProperties": _("There must be at most %(wanted)s members."),
        "additionalProperties": _("There is no such member."),
        "unevaluatedProperties": _("There is no such member."),
        "propertyNames": _("A member may not have this name."),
        "false": _("Nothing is allowed here."),
        "oneOf": _("This fits none of the choices, or more than one."),
        "anyOf": _("This fits none of the choices."),
        "not": _("Just this is not allowed."),
    }
    text = sentences.get(failure.keyword, _("This does not fit the schema (%(keyword)s)."))
    return text % {"wanted": _wanted(failure.wanted), "keyword": failure.keyword}


def _wanted(text: str) -> str:
    value = jsontext.loads(text)
    if isinstance(value, list):
        return " / ".join(str(one) for one in value[:8])
    return str(value)[:100] if isinstance(value, str) else text[:100]

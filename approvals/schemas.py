"""JSON Schema, wrapped once: the only way here to check an answer or edits against a schema.

No network, bounded time and size, decimals instead of floats, and sentences instead of a library's messages. A schema
that cannot be used is an `UnusableSchema` with its reason: the answer is then free JSON, never impossible (R-19, T-30).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from approvals import jsontext
from approvals.validation import check, worker
from approvals.validation.check import Failure, Limits
from approvals.validation.keywords import comparable
from approvals.validation.shape import alone, invites, is_fixed, kept, local, members, resolve, secret
from approvals.validation.walking import prefix, rest

__all__ = [
    "Problem",
    "UnusableSchema",
    "equal",
    "holds",
    "invites",
    "is_fixed",
    "judged",
    "kept",
    "limits",
    "local",
    "members",
    "part",
    "prefix",
    "problems",
    "resolve",
    "rest",
    "secret",
    "sentence",
    "usable",
]


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
    jsontext.loads(value_text)
    try:
        return [Problem(failure.pointer, sentence(failure)) for failure in _failures(schema_text, value_text, limits())]
    except check.UnusableSchema as unusable:
        raise UnusableSchema(_reason(unusable)) from unusable


def _failures(schema_text: str, value_text: str, bounds: Limits) -> list[Failure]:
    """Checked here where that is cheap, else in a process that can be killed: so is the schema itself."""
    schema = check.read(schema_text, bounds)
    cheap = check.is_cheap(schema, len(schema_text), value_text)
    failures = check.failures if cheap else worker.failures
    return failures(schema_text, value_text, bounds)


def usable(schema_text: str) -> str | None:
    """None, or the sentence that says why this schema cannot be used."""
    try:
        _tried(schema_text, limits())
    except check.UnusableSchema as unusable:
        return _reason(unusable)
    return None


@lru_cache(maxsize=256)
def _tried(schema_text: str, bounds: Limits) -> None:
    """Remembers a schema that works; one that does not is tried again, since a busy machine may be why."""
    _failures(schema_text, "{}", bounds)


def equal(one: str, other: str) -> bool:
    """Equal as JSON Schema has it: numbers by their value, `true` apart from `1`."""
    values = [jsontext.plain(jsontext.loads(text)) for text in (one, other)]
    return bool(comparable(values[0]) == comparable(values[1]))


def part(root: dict[str, Any], node: Any) -> str:
    """A part of a schema as a schema of its own, with all that it may refer to."""
    return jsontext.dumps(alone(root, node) if isinstance(node, dict) and node is not root else node)


def holds(root: dict[str, Any], condition: Any, value_text: str) -> bool:
    """Whether a value fits a part of a schema; where that cannot be said, it does."""
    return judged(root, condition, value_text) is not False


def judged(root: dict[str, Any], condition: Any, value_text: str) -> bool | None:
    """Whether a value fits a part of a schema; None where that cannot be said, which may have taken its time."""
    try:
        return not problems(part(root, condition), value_text)
    except UnusableSchema:
        return None


def _reason(unusable: check.UnusableSchema) -> str:
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
        "dependentRequired": _("This must be there too, because of what else is filled in."),
        "dependencies": _("This must be there too, because of what else is filled in."),
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

"""What a schema asks of one place, in words beside its control: type, limits, form, what would be usual."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from approvals import jsontext
from approvals.jsontext import Number

EXAMPLES = {
    "date-time": "2030-01-31T09:30:00+09:00",
    "date": "2030-01-31",
    "time": "09:30:00+09:00",
    "duration": "P3DT12H",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
KEYBOARDS = {"email": "email", "idn-email": "email", "uri": "url", "iri": "url"}
LONGEST = 120  # characters of a pattern or an example that a hint repeats

Schema = dict[str, Any]


def type_line(schema: Schema, kind: str) -> str:
    """The type as the schema calls it, its format and its limits."""
    kinds = schema.get("type")
    named = " / ".join(map(str, kinds)) if isinstance(kinds, list) else words(kinds)
    return ", ".join([named or _named(kind), *filter(None, [words(schema.get("format")), *_limits(schema)])])


def words(value: Any) -> str:
    """A text of the schema's author; "" for anything else."""
    return value if isinstance(value, str) and not isinstance(value, Number) else ""


def pattern(schema: Schema) -> str:
    """The pattern, where it is short enough to be read by anybody."""
    found = words(schema.get("pattern"))
    return found if len(found) <= LONGEST else ""


def examples(schema: Schema, kind: str) -> list[str]:
    """Values that the author gives as examples; of a format that nobody can guess, ours."""
    given = schema.get("examples", [schema["example"]] if "example" in schema else [])
    told = [words(one) or jsontext.dumps(one) for one in given[:3]] if isinstance(given, list) else []
    usual = EXAMPLES.get(words(schema.get("format"))) if kind == "text" else None
    return [one for one in told if len(one) <= LONGEST] or ([usual] if usual else [])


def keyboard(schema: Schema, kind: str, *, is_whole: bool) -> str:
    """`inputmode`: which keys a telephone shows. It changes no value, as `type=number` would."""
    if kind == "number":
        low = _number(schema.get("minimum", schema.get("exclusiveMinimum")))
        positive = low is not None and not low.startswith("-")
        return ("numeric" if is_whole else "decimal") if positive else ""  # these keys have no minus everywhere
    return KEYBOARDS.get(words(schema.get("format")), "")


def _number(value: Any) -> str | None:
    return str(value) if isinstance(value, Number) else None


def _limits(schema: Schema) -> list[str]:
    return [*_range(schema), *_step(schema), *_sizes(schema)]


def _range(schema: Schema) -> list[str]:
    low, high = _number(schema.get("minimum")), _number(schema.get("maximum"))
    over, under = _number(schema.get("exclusiveMinimum")), _number(schema.get("exclusiveMaximum"))
    if low is not None and high is not None:
        said = [_("%(low)s to %(high)s") % {"low": low, "high": high}]
    else:
        said = [_("from %s") % low] if low is not None else []
        said += [_("up to %s") % high] if high is not None else []
    said += [_("more than %s") % over] if over is not None else []
    return said + ([_("less than %s") % under] if under is not None else [])


def _step(schema: Schema) -> list[str]:
    step = _number(schema.get("multipleOf"))
    return [_("in steps of %s") % step] if step is not None else []


def _sizes(schema: Schema) -> list[str]:
    said = []
    for least, most, at_least, at_most, between in (
        ("minLength", "maxLength", _("at least %s characters"), _("at most %s characters"), _("%s to %s characters")),
        ("minItems", "maxItems", _("at least %s items"), _("at most %s items"), _("%s to %s items")),
    ):
        low, high = _number(schema.get(least)), _number(schema.get(most))
        if low not in (None, "0") and high is not None:
            said.append(between % (low, high))
        elif high is not None:
            said.append(at_most % high)
        elif low not in (None, "0"):
            said.append(at_least % low)
    return said + ([_("none twice")] if schema.get("uniqueItems") is True else [])


def _named(kind: str) -> str:
    kinds = {
        "text": _("string"),
        "number": _("number"),
        "boolean": _("boolean"),
        "choice": _("one of several"),
        "constant": _("fixed"),
        "object": _("object"),
        "array": _("array"),
    }
    return kinds.get(kind, _("any JSON"))

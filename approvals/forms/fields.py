"""A form as data: what the templates draw and what a POST is read with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from approvals.forms.texts import NULL_VALUE
from approvals.schemas import Problem

EXAMPLES = {"date-time": "2030-01-31T09:30:00+09:00", "date": "2030-01-31", "time": "09:30:00+09:00"}


@dataclass(frozen=True)
class Option:
    """One entry of a select or one radio."""

    value: str
    label: str
    chosen: bool = False
    foreign: bool = False


@dataclass(kw_only=True)
class Field:
    """One place of the value and its control.

    `rendered` is what the control holds when nobody touched it: posted back, it means `source`, byte for byte.
    """

    kind: str
    pointer: str
    name: str
    id: str
    label: str
    schema: dict[str, Any] = field(default_factory=dict)
    source: str | None = None  # exact JSON text of the value that is there; None: absent
    rendered: str = ""
    shown: str = ""  # what the control holds now: as posted, else as rendered
    required: bool = False
    nullable: bool = False
    reason: str = ""
    options: list[Option] = field(default_factory=list)
    states: list[Option] = field(default_factory=list)
    rendered_state: str = ""
    state_name: str = ""
    children: list[Field] = field(default_factory=list)
    conditional: tuple[Any, bool] | None = None  # the `if` on which it depends, and whether it must hold
    choices: tuple[tuple[Any, str], ...] = ()
    items_name: str = ""
    items: list[int] = field(default_factory=list)  # arrays: which items there are now, by their first index
    taken_out: list[tuple[int, str]] = field(default_factory=list)  # original items not there now, with their text
    can_add: bool = False
    ticks_name: str = ""  # posted with a box to tick, so that an empty one can be told from none
    names_name: str = ""
    new_name: str = ""
    new_names: str = ""  # maps: JSON list of the members added in this form
    branch_name: str = ""
    branches: list[Option] = field(default_factory=list)
    is_item: bool = False
    is_new: bool = False  # an item or member that was added in this form
    multiline: bool = False
    secret: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def template(self) -> str:
        return f"approvals/fields/_{'text' if self.kind == 'number' else self.kind}.html"

    @property
    def is_compact(self) -> bool:
        """Whether the children are short enough to stand side by side."""
        short = ("text", "number", "boolean", "choice", "constant")
        return all(child.kind in short and not child.multiline and not child.branches for child in self.children)

    @property
    def title(self) -> str:
        return _text(self.schema.get("title"))

    @property
    def description(self) -> str:
        return _text(self.schema.get("description"))

    @property
    def type(self) -> str:
        """The type as the schema calls it, with what a person has to know to fill it in."""
        kinds = self.schema.get("type")
        named = " / ".join(map(str, kinds)) if isinstance(kinds, list) else _text(kinds)
        words = [named or _named(self.kind)]
        words += [_text(self.schema["format"])] if isinstance(self.schema.get("format"), str) else []
        words += [_range(self.schema)] if _range(self.schema) else []
        return ", ".join(words) + (" · " + _("required") if self.required else "")

    @property
    def is_whole(self) -> bool:
        """Whether only a whole number, or null, can stand here."""
        kinds = self.schema.get("type")
        return bool(kinds) and set(kinds if isinstance(kinds, list) else [kinds]) <= {"integer", "null"}

    @property
    def example(self) -> str:
        """How a value of this format is written, where nobody can guess it."""
        return EXAMPLES.get(_text(self.schema.get("format")), "") if self.kind == "text" else ""

    @property
    def was(self) -> str | None:
        """The proposed value, where it was changed."""
        return self.rendered if self.source is not None and self.shown != self.rendered else None

    @property
    def null_value(self) -> str:
        return NULL_VALUE if self.nullable else ""

    @property
    def rows(self) -> int:
        return max(2, min(20, self.shown.count("\n") + 1 + len(self.shown) // 90))

    @property
    def next_item(self) -> int:
        return max([*self.items, *(index for index, _source in self.taken_out)], default=-1) + 1

    def walk(self) -> Iterator[Field]:
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(kw_only=True)
class FieldTree:
    """A whole form: its fields, and the same value as raw JSON."""

    root: Field
    raw_name: str
    raw_rendered: str
    raw_shown: str
    raw_problems: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)  # all of them, for the summary above the form
    editable: bool = True

    @property
    def raw_rows(self) -> int:
        return max(3, min(24, self.raw_shown.count("\n") + 1))

    @property
    def only_raw(self) -> bool:
        """Nothing to build a form from: one box of JSON."""
        return self.root.kind == "raw"

    def at(self, pointer: str) -> Field:
        """The field at a place, or the nearest one around it."""
        best = self.root
        for one in self.root.walk():
            inside = pointer == one.pointer or pointer.startswith(one.pointer + "/")
            best = one if inside and len(one.pointer) >= len(best.pointer) else best
        return best

    def control(self, pointer: str) -> str:
        """The id of the control at a place; "" for a group of them."""
        if self.only_raw:
            return f"f-{self.raw_name}"
        found = self.at(pointer)
        return "" if found.kind in ("object", "array", "constant") else found.id

    def place(self, problems: list[Problem]) -> None:
        """Put each problem beside the control that it is about."""
        for problem in problems:
            self.problems.append(problem)
            target = self.at(problem.pointer)
            (self.raw_problems if self.only_raw else target.problems).append(problem.message)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


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


def _range(schema: dict[str, Any]) -> str:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if isinstance(low, str) and isinstance(high, str):
        return _("%(low)s to %(high)s") % {"low": low, "high": high}
    if isinstance(low, str):
        return _("from %s") % low
    return _("up to %s") % high if isinstance(high, str) else ""

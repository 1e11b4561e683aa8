"""A form as data: what the templates draw and what a POST is read with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from approvals.foreign.diff import Change
from approvals.forms import hints
from approvals.forms.texts import NULL_VALUE
from approvals.schemas import Problem

LONGEST_TWICE = 1_000_000  # characters of a value that a page holds as fields and as raw JSON too


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
    source: str | None = None  # exact JSON text of the value that the form stands over; None: absent
    proposed: str | None = None  # the same of the value that was proposed
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
    conditional: Any = None  # the condition on which it depends, as a schema of the object around it
    choices: tuple[tuple[Any, str], ...] = ()
    default: str | None = None  # JSON text that the schema would take for an absent value: told, never sent by itself
    default_name: str = ""  # of the button that fills it in; "" where there is none
    items_name: str = ""
    items: list[int] = field(default_factory=list)  # arrays: which items there are now, by their first index, in order
    taken_out: list[tuple[int, str]] = field(default_factory=list)  # original items not there now, with their text
    can_add: bool = False
    can_remove: bool = False
    can_move_up: bool = False
    can_move_down: bool = False
    open_name: str = ""  # posted where an absent part was laid out on wish
    is_open: bool = False
    can_open: bool = False
    ticks_name: str = ""  # posted with a box to tick, so that an empty one can be told from none
    names_name: str = ""
    new_name: str = ""
    new_shown: str = ""
    new_names: str = ""  # maps: JSON list of the members added in this form
    branch_name: str = ""
    branches: list[Option] = field(default_factory=list)
    position: int | None = None  # of an item, in the order of now
    is_next: bool = False  # where a keyboard should be after a button of the form was pressed
    is_item: bool = False
    is_place: bool = False  # a place of a list laid out though nothing stands there yet
    is_new: bool = False  # an item or member that was added in this form
    multiline: bool = False
    secret: bool = False
    hides: str = ""  # the kind of a value that is not shown: "text" or "number"
    problems: list[str] = field(default_factory=list)

    @property
    def template(self) -> str:
        return f"approvals/fields/_{'text' if self.kind == 'number' else self.kind}.html"

    @property
    def is_compact(self) -> bool:
        """Whether the children are short enough to stand side by side."""
        short = ("text", "number", "boolean", "choice", "constant", "fixed", "hidden")
        return all(child.kind in short and not child.multiline and not child.branches for child in self.children)

    @property
    def title(self) -> str:
        return hints.words(self.schema.get("title"))

    @property
    def description(self) -> str:
        return hints.words(self.schema.get("description"))

    @property
    def type(self) -> str:
        """The type as the schema calls it, with what a person has to know to fill it in."""
        return hints.type_line(self.schema, self.kind) + (" · " + _("required") if self.required else "")

    @property
    def is_whole(self) -> bool:
        """Whether only a whole number, or null, can stand here."""
        kinds = self.schema.get("type")
        return bool(kinds) and set(kinds if isinstance(kinds, list) else [kinds]) <= {"integer", "null"}

    @property
    def examples(self) -> list[str]:
        return hints.examples(self.schema, self.kind)

    @property
    def pattern(self) -> str:
        return hints.pattern(self.schema) if self.kind == "text" else ""

    @property
    def keyboard(self) -> str:
        return hints.keyboard(self.schema, self.kind, is_whole=self.is_whole)

    @property
    def was(self) -> str | None:
        """The proposed value, where it was changed."""
        differs = self.shown != self.rendered or self.source != self.proposed
        return self.proposed if differs else None

    @property
    def null_value(self) -> str:
        return NULL_VALUE if self.nullable else ""

    @property
    def rows(self) -> int:
        return max(2, min(20, self.shown.count("\n") + 1 + len(self.shown) // 90))

    def walk(self) -> Iterator[Field]:
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(kw_only=True)
class FieldTree:
    """A whole form: its fields, and the same value as raw JSON."""

    root: Field
    prefix: str
    raw_name: str
    raw_rendered: str
    raw_shown: str
    drawn_name: str = ""
    drawn: str = ""  # from which value the raw box was drawn, and with which text (`syncing`)
    masked_name: str = ""  # posted where the page holds tokens for hidden values
    over_name: str = ""
    over: str = ""  # the value that the fields stand over, where it is not the first one
    text: str | None = None  # what the form says now; None: nothing, or it cannot be read
    changes: list[Change] = field(default_factory=list)  # how that differs from what was proposed
    notice: str = ""
    raw_problems: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)  # all of them, for the summary above the form
    editable: bool = True

    @property
    def unread(self) -> str:
        """Why there is nothing to compare with what was proposed; "" where there is."""
        return "" if not self.problems and not self.raw_problems else " ".join(one.message for one in self.problems)

    @property
    def has_raw_box(self) -> bool:
        """A value of megabytes stands on the page once: in the fields, where there are any."""
        return self.only_raw or len(self.raw_rendered) <= LONGEST_TWICE

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
        return "" if found.kind in ("object", "array", "constant", "fixed") else found.id

    def place(self, problems: list[Problem]) -> None:
        """Put each problem beside the control that it is about."""
        for problem in problems:
            self.problems.append(problem)
            target = self.at(problem.pointer)
            (self.raw_problems if self.only_raw else target.problems).append(problem.message)

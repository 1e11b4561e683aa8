"""From the fields of a form back to JSON: what was not touched keeps its bytes, what was typed keeps its text."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from approvals import jsontext, schemas
from approvals.forms import texts, ticks
from approvals.forms.fields import Field
from approvals.forms.kinds import Schema
from approvals.forms.posted import Posted
from approvals.schemas import Problem


@dataclass(frozen=True, kw_only=True)
class Read:
    """What a form says. `text` is None when nothing is there or something could not be read."""

    text: str | None
    problems: list[Problem] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)  # pointers of the controls that were changed
    moved: list[tuple[str, str]] = field(default_factory=list)  # places in `text` and their fields, where they differ

    def place(self, pointer: str) -> str:
        """The field of a place in `text`: items behind one that was taken out kept their old numbers in the form."""
        for now, then in reversed(self.moved):
            if pointer == now or pointer.startswith(now + "/"):
                return then + pointer[len(now) :]
        return pointer


class Reader:
    """Reads the fields of one tree. `root`: the schema, for what depends on conditions."""

    def __init__(self, posted: Posted, root: Schema) -> None:
        self.posted = posted
        self.root = root
        self.is_slow = False  # a condition could not be judged in its time: no other one is tried
        self.known: dict[int, bool] = {}  # by field: whether anything of it was touched
        self.problems: list[Problem] = []
        self.moved: list[tuple[str, str]] = []

    def is_touched(self, one: Field) -> bool:
        """Whether this very control was changed; for an array or map also which of its parts are there."""
        if one.is_new or one.taken_out or one.items != sorted(one.items):
            return True
        return self.state(one) != one.rendered_state or (
            one.kind not in ("object", "array") and one.shown != one.rendered
        )

    def any_touched(self, one: Field) -> bool:
        if id(one) not in self.known:
            self.known[id(one)] = self.is_touched(one) or self.touched_inside(one)
        return self.known[id(one)]

    def touched_inside(self, one: Field) -> bool:
        return any(self.any_touched(child) for child in one.children)

    def state(self, one: Field) -> str:
        """What is said about the place; typing over a `null` says that it is not null any more."""
        said = self.posted.about("state", one.pointer)
        is_typed_in = one.shown != one.rendered or self.touched_inside(one)
        if said is None or (said == one.rendered_state and is_typed_in):
            return "" if is_typed_in else one.rendered_state
        return said if said in {option.value for option in one.states} else one.rendered_state

    def value(self, one: Field, *, wanted: bool) -> str | None:
        """The JSON text of a field, or None to leave it out. `wanted`: its parent is there and needs it."""
        if one.shown == texts.NULL_VALUE != one.rendered and one.nullable:
            return "null"
        if not self.any_touched(one):
            return one.source if one.source is not None else self.untouched(one, wanted)
        stated = self.state(one)
        if stated in ("null", "empty") and (self.touched_inside(one) or one.shown != one.rendered):
            self.problems.append(
                Problem(one.pointer, _("Something is filled in here: it cannot be empty or null too."))
            )
        if stated:
            return {"null": "null", "out": None, "empty": self.empty(one)}[stated]
        read = {
            "text": self.text,
            "number": self.number,
            "raw": self.raw,
            "hidden": self.hidden,
            "boolean": self.boolean,
            "choice": self.choice,
            "constant": self.constant,
            "object": self.object,
            "array": self.array,
            "ticks": self.ticks,
        }
        return read[one.kind](one)  # a fixed field has no control: it is never touched

    def empty(self, one: Field) -> str:
        """Nothing filled in; an object still has what it must have and can only be one thing."""
        return self.object(one) if one.kind == "object" else {"array": "[]", "ticks": "[]"}.get(one.kind, '""')

    def untouched(self, one: Field, wanted: bool) -> str | None:
        """What was absent stays absent, but for what a parent needs and can only be one thing."""
        if not wanted or (one.is_place and one.kind in ("object", "array", "ticks")):
            return None
        made = {"object": self.object, "array": self.array, "ticks": self.ticks, "constant": self.required_constant}
        if one.kind in made:
            return made[one.kind](one)
        return '""' if one.kind == "text" and one.is_item and not one.is_place else None

    def text(self, one: Field) -> str | None:
        is_added = one.is_item and not one.is_place
        return jsontext.dumps(one.shown) if one.shown or one.source is not None or is_added else None

    def number(self, one: Field) -> str | None:
        if not one.shown.strip():
            return self.missing(one)
        text = texts.number(one.shown)
        if text is None:
            self.problems.append(Problem(one.pointer, _("This is not a number as JSON writes it, such as 12 or -0.5.")))
        elif texts.is_beyond(text):
            self.problems.append(Problem(one.pointer, _("This number is larger than programs can carry.")))
        elif one.is_whole and not texts.is_whole(text):
            self.problems.append(Problem(one.pointer, _("A whole number is asked for: digits only.")))
        return text

    def missing(self, one: Field) -> str | None:
        """An empty control leaves its member out; an item cannot be left out."""
        if one.is_item and not one.is_place:
            self.problems.append(Problem(one.pointer, _("Fill this in, or take the item out.")))
        return None

    def hidden(self, one: Field) -> str | None:
        return self.number(one) if one.hides == "number" else jsontext.dumps(one.shown)

    def raw(self, one: Field) -> str | None:
        text = one.shown.strip(" \t\r\n")
        if not text:
            return self.missing(one)
        try:
            jsontext.loads(text)
        except jsontext.JSONTextError as error:
            self.problems.append(Problem(one.pointer, _("This is not JSON: %(why)s.") % {"why": error}))
            return None
        return text

    def boolean(self, one: Field) -> str | None:
        if one.shown in ("true", "false"):
            return one.shown
        if one.shown:
            self.problems.append(Problem(one.pointer, _("Choose true or false.")))
        return self.missing(one)

    def choice(self, one: Field) -> str | None:
        """By number; a program may also post a text that only one of the choices can mean."""
        values = [jsontext.dumps(value) for value, _title in one.choices]
        if one.shown == "":
            return self.missing(one)
        if one.shown[0] == "#" and one.shown[1:].isascii() and one.shown[1:].isdigit() and len(one.shown) < 8:
            meant = values[int(one.shown[1:]) :][:1]
        else:
            meant = [text for text in values if one.shown in (text, jsontext.loads(text))]
        if len(meant) != 1:
            self.problems.append(Problem(one.pointer, _("Choose one of the values.")))
            return None
        return meant[0]

    def constant(self, one: Field) -> str | None:
        if one.required or one.is_item:
            return one.source if one.source is not None else self.required_constant(one)
        return self.required_constant(one) if one.shown == "1" else None

    def required_constant(self, one: Field) -> str:
        return jsontext.dumps(one.schema["const"])

    def object(self, one: Field) -> str:
        """The object over its old text: changed members in place, new ones behind, those left out gone."""
        firm = [child for child in one.children if child.conditional is None]
        text = self.with_members(one, _base(one, "{}"), firm)
        loose = [child for child in one.children if child.conditional is not None]
        while asked := [child for child in loose if self.applies(child, text)]:
            # What came in may be the condition of what did not yet.
            text = self.with_members(one, text, asked)
            loose = [child for child in loose if not any(child is one_asked for one_asked in asked)]
        return text

    def with_members(self, one: Field, text: str, children: list[Field]) -> str:
        changes: dict[str, str | None] = {}
        for child in children:
            # What a given object lacks is not added for anybody; only an object made here gets what it must have.
            new = self.value(child, wanted=child.required and one.source is None)
            if new != child.source or child.is_new:
                changes[jsontext.pointer(child.label)] = new
        return jsontext.replace(text, changes) if changes else text

    def applies(self, child: Field, text: str) -> bool:
        """Whether the schema asks for this member, given the others. One that was there before is not dropped."""
        if child.conditional is None or child.source is not None:
            return True
        if self.is_slow:
            return True
        judged = schemas.judged(self.root, child.conditional, text)
        self.is_slow = judged is None
        return judged is not False

    def array(self, one: Field) -> str:
        """The array over its old text: items taken out gone, new ones behind, and then all in their order."""
        changes: dict[str, str | None] = {f"/{index}": None for index, _source in one.taken_out}
        read = [(child, self.value(child, wanted=True)) for child in one.children]
        read = self.without_open_end(one, read)
        for position, (child, new) in enumerate(read):
            if new is not None and (new != child.source or child.source is None):
                changes[f"/{child.label}"] = new
            now = one.pointer + f"/{position}"
            self.moved += [(now, child.pointer)] if now != child.pointer else []
        text = jsontext.replace(_base(one, "[]"), changes) if changes else _base(one, "[]")
        return _in_order(text, [(int(child.label), new) for child, new in read])

    def ticks(self, one: Field) -> str:
        return ticks.read(one, _base(one, "[]"))

    def without_open_end(self, one: Field, read: list[tuple[Field, str | None]]) -> list[tuple[Field, str | None]]:
        """Places of a tuple that nobody filled in end the list; one between others cannot be skipped."""
        while read and read[-1][0].is_place and read[-1][1] is None:
            read = read[:-1]
        told = {problem.pointer for problem in self.problems}
        for child, new in read:
            if child.is_place and new is None and child.pointer not in told:
                self.problems.append(Problem(child.pointer, _("Fill this in: what follows has a place behind it.")))
        return read


def _in_order(text: str, items: list[tuple[int, str | None]]) -> str:
    """A list whose items stand by their first number, put into the order that was chosen. White space stays."""
    there = [(number, new) for number, new in items if new is not None]
    ordered = sorted(there)
    if there == ordered:
        return text
    places = enumerate(zip(there, ordered, strict=True))
    return jsontext.replace(text, {f"/{at}": new for at, ((_n, new), (_o, old)) in places if new != old})


def _base(one: Field, empty: str) -> str:
    """The old text of an object or array; an empty one where there was none, or null."""
    return one.source if one.source is not None and one.source.startswith(empty[0]) else empty

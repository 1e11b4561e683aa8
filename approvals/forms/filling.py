"""A form over one value, as drawn and as posted: fields and raw JSON, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from django.utils.translation import gettext as _

from approvals import schemas
from approvals.foreign import diff, masking
from approvals.foreign.masking import Hidden
from approvals.forms import syncing
from approvals.forms.building import Builder, Spot, parsed, usable
from approvals.forms.fields import Field, FieldTree
from approvals.forms.posted import Names, Posted
from approvals.forms.reading import Read, Reader
from approvals.jsontext import JSONTextError
from approvals.schemas import Problem


def build(
    schema_text: str | None,
    value_text: str | None,
    *,
    prefix: str = "v",
    editable: bool = True,
    post: Mapping[str, str] | None = None,
    problems: list[Problem] | None = None,
) -> FieldTree:
    """The form for a value by its schema; without a schema by what the value is, without either one raw box.

    With `post` it shows what was posted: nothing that was typed is lost. `problems` are put beside their fields.
    """
    tree = Filling(schema_text, value_text, prefix, post).tree(editable)
    tree.place(problems or [])
    return tree


def read(post: Mapping[str, str], schema_text: str | None, value_text: str | None, *, prefix: str = "v") -> Read:
    """The JSON text that a POST means, over the value that the form was made from. Checks no schema but its controls'.

    Both ways of writing are there, fields and raw JSON; whichever was changed last counts. Where each was changed
    without the other, that is a problem and not a guess.
    """
    filling = Filling(schema_text, value_text, prefix, post)
    return filling.unmasked(filling.read())


class Filling:
    """One form with what was posted for it."""

    def __init__(self, schema_text: str | None, first: str | None, prefix: str, post: Mapping[str, str] | None) -> None:
        self.schema = usable(schema_text)
        self.root_schema = self.schema if isinstance(self.schema, dict) else {}
        self.names = Names(prefix)
        known = schema_text if self.root_schema else None
        self.hidden = _hidden(known, first, is_masked=_is_masked(post, self.names))
        self.first = self.hidden.text if first is not None else None
        self.was_posted = post is not None
        self.notice = ""
        self.raw_problem = ""
        self.laid_out(post or {})
        if self.posted.action("to-fields", ""):
            self.follow_raw()
        elif self.posted.action("to-raw", ""):
            self.follow_fields()

    def laid_out(self, post: Mapping[str, str]) -> None:
        self.posted = Posted(post, self.names)
        self.over = syncing.over(self.posted, self.first)
        self.raw = syncing.raw_of(self.posted, self.over)
        self.__dict__.pop("root", None)
        self.__dict__.pop("fields", None)

    @cached_property
    def root(self) -> Field:
        document = parsed(self.over)
        first = parsed(self.first) if self.over != self.first else None
        builder = Builder(self.root_schema, document, self.posted, first, self.hidden.secrets)
        node = document.root if document else None
        return builder.field(Spot(pointer="", label="", schema=self.schema, node=node, required=True))

    @cached_property
    def fields(self) -> Read:
        """What the fields alone say."""
        reader = Reader(self.posted, self.root_schema)
        only_raw = self.root.kind == "raw"
        touched = {one.pointer for one in self.root.walk() if not only_raw and reader.is_touched(one)}
        if only_raw or (self.over is not None and not touched):
            return Read(text=self.over)
        text = reader.value(self.root, wanted=True)
        if reader.problems:
            return Read(text=None, problems=reader.problems, touched=touched)
        return Read(text=text, touched=touched, moved=reader.moved)

    def read(self) -> Read:
        if not self.raw.is_changed or self.fields_are_newer:
            return self.fields
        if self.fields.touched and not self.raw_is_newer:
            both = _("Both the fields and the raw JSON were changed. Say at the raw JSON which of the two counts.")
            return Read(text=None, problems=[Problem("", both)], touched=self.fields.touched)
        if not self.raw.text:
            return Read(text=None, touched={""})
        try:
            return Read(text=syncing.adopted(self.raw, self.first), touched={""})
        except JSONTextError as error:
            return Read(text=None, problems=[Problem("", _not_json(error))], touched={""})

    def unmasked(self, said: Read) -> Read:
        """The same with every hidden value back in its place."""
        if said.text is None:
            return said
        try:
            return replace(said, text=self.hidden.shown(said.text))
        except LookupError:
            stale = _("A hidden value could not be put back. Open the page again.")
            return replace(said, text=None, problems=[Problem("", stale)])

    @property
    def fields_are_newer(self) -> bool:
        """The fields were laid out over what the raw box still says."""
        try:
            return self.over is not None and syncing.adopted(self.raw, self.first) == self.over
        except JSONTextError:
            return False

    @property
    def raw_is_newer(self) -> bool:
        """The raw box was drawn from what the fields still say."""
        return not self.fields.problems and syncing.digest(self.fields.text) == self.raw.of

    def follow_raw(self) -> None:
        """Lay the fields out over what the raw box says."""
        try:
            over = syncing.adopted(self.raw, self.first)
        except JSONTextError as error:
            self.raw_problem = _not_json(error)
            return
        if self.fields.touched and self.raw.is_changed and not self.raw_is_newer and not self.fields_are_newer:
            self.notice = _("The raw JSON counts now. What had been changed in the fields alone is gone.")
        raw = syncing.drawn_from(over, self.raw.shown)
        self.laid_out(syncing.without_fields(self.posted.data, self.names))
        self.over, self.raw = over, raw

    def follow_fields(self) -> None:
        """Draw the raw box from what the fields say."""
        if self.fields.problems:
            return
        if self.raw.is_changed and not self.fields_are_newer and not self.raw_is_newer:
            self.notice = _("The fields count now. What had been changed in the raw JSON alone is gone.")
        self.raw = syncing.drawn_from(self.fields.text)

    def look_at_what_was_pressed(self) -> None:
        """A keyboard goes on where the button was: in the new item, in the one that moved, in the new branch."""
        verb, _colon, name = self.posted.data.get("action", "").partition(":")
        pressed = next((one for one in self.root.walk() if one.name == name), None)
        if pressed is None or verb not in ("add", "up", "down", "branch", "open", "use"):
            return
        target = pressed.children[-1] if verb == "add" and pressed.children else pressed
        if found := _first_control(target):
            found.is_next = True

    def tree(self, editable: bool) -> FieldTree:
        tree = FieldTree(
            root=self.root,
            prefix=self.names.prefix,
            raw_name=self.names.about("raw"),
            raw_rendered=self.raw.rendered,
            raw_shown=self.raw.shown,
            drawn_name=self.names.about("drawn"),
            drawn=self.raw.drawn,
            masked_name=self.names.about("masked") if self.hidden.secrets else "",
            over_name=self.names.about("over"),
            over=syncing.over_as_posted(self.over) if self.over != self.first else "",
            notice=self.notice,
            raw_problems=[self.raw_problem] if self.raw_problem else [],
            editable=editable,
        )
        self.look_at_what_was_pressed()
        if self.was_posted:
            said = self.read()
            tree.text = self.unmasked(said).text
            tree.changes = _changes(self.first, said.text)
            tree.place(self.fields.problems if self.posted.action("to-raw", "") else [])
        return tree


CONTROLS = ("text", "number", "raw", "boolean", "choice", "ticks", "hidden")


def _first_control(field: Field) -> Field | None:
    return next((one for one in field.walk() if one.kind in CONTROLS), None)


def _is_masked(post: Mapping[str, str] | None, names: Names) -> bool:
    """Whether the page held tokens for secrets. A post without a word of it was masked too, unless it was shown them.

    Reading an open page as a masked one is harmless: what it holds is then what was typed in the secret's place.
    """
    return not masking.is_lifted() or (post is not None and post.get(names.about("masked")) == "1")


def _hidden(schema_text: str | None, first: str | None, *, is_masked: bool) -> Hidden:
    if first is None or not is_masked:
        return Hidden(first or "")
    return masking.hide(first, masking.scope(), secret_places=_secret_places(schema_text, first))


def _secret_places(schema_text: str | None, first: str) -> list[str]:
    """What the schema itself says is secret."""
    if schema_text is None or parsed(first) is None:
        return []
    return schemas.secret(schema_text, masking.leaves(first))


def _changes(first: str | None, now: str | None) -> list[diff.Change]:
    try:
        return [] if first is None or now is None else diff.argument_diff(first, now)
    except JSONTextError:
        return []


def _not_json(error: JSONTextError) -> str:
    return _("This is not JSON: %(why)s.") % {"why": error}

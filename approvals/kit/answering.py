"""Making the exact text of an answer out of a verdict and what a person filled in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from approvals import jsontext, schemas
from approvals.schemas import Problem

if TYPE_CHECKING:
    from approvals.kit.verdicts import AnswerForm, VerdictKit


class Unanswerable(Exception):
    """This verdict with these parts makes no answer. Pointers of the problems start at the parts' names."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__(" ".join(problem.message for problem in problems))


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """What a whole answer says in the words of this desk."""

    verdict: str
    edits: str | None = None
    comment: str = ""


def meaning(verdict: str, form: AnswerForm, answer: str, proposal: str | None) -> Meaning | None:
    """What this answer says if it is that verdict, filled in; else None."""
    if form.answer is None:
        return None
    document = jsontext.parse(answer)
    edits, comment = None, ""
    places: list[str] = []
    if form.edits_at is not None and (node := document.at(form.edits_at)):
        edits = document.source(node)
        places.append(form.edits_at)
    if form.edits_spread and (spread := _spread(answer, proposal)):
        edits = jsontext.dumps({name: jsontext.loads(text) for name, text in spread.items()})
        places += [jsontext.pointer(name) for name in spread]
    if form.comment_at is not None and (node := document.at(form.comment_at)) and node.kind == "string":
        comment = node.text
        places.append(form.comment_at)
    base = form.edited if edits is not None and form.edited is not None else form.answer
    if not jsontext.same(_without(answer, places), _without(base, places)):
        return None
    return Meaning(verdict=verdict, edits=edits, comment=comment)


def _spread(answer: str, proposal: str | None) -> dict[str, str]:
    """The arguments that stand at the top of an answer."""
    names = jsontext.members(proposal or "{}")
    return {name: text for name, text in jsontext.members(answer).items() if name in names}


def _without(text: str, places: list[str]) -> str:
    return jsontext.replace(text, dict.fromkeys(places))


@dataclass(frozen=True, kw_only=True)
class _Given:
    proposal: str | None
    edits: str | None
    input: str | None
    comment: str
    parameters: str | None


class Parts:
    """One answer being made out of its parts, and where each place of it came from."""

    def __init__(self, kit: VerdictKit, **given: Any) -> None:
        self.kit = kit
        self.given = _Given(**given)

    def built(self, verdict: str) -> str | None:
        form = self.kit.forms.get(verdict)
        if form is None:
            why = self.kit.impossible.get(verdict) or _("This verdict is not offered here.")
            raise Unanswerable([Problem("/verdict", why)])
        if form.input == "whole":
            return self.whole()
        if form.answer is None and (self.given.edits is not None or self.given.input is not None):
            raise Unanswerable([Problem("/verdict", _("This verdict sends no answer, so it takes no edits or input."))])
        if form.answer is None:
            return None
        edits = self.edit_changes(form)
        changes: dict[str, str | None] = self.input_changes(verdict, form) | edits
        if form.comment_at is not None and self.given.comment:
            changes[form.comment_at] = jsontext.dumps(self.given.comment)
        text = jsontext.replace(form.edited if edits and form.edited is not None else form.answer, changes)
        self.check(text, form)
        return text

    def whole(self) -> str:
        """The input as the answer. Its edits obey the same rules as edits given by themselves."""
        if self.given.edits is not None:
            raise Unanswerable([Problem("/edits", _("An answer takes no edits."))])
        if self.given.input is None:
            raise Unanswerable([Problem("/input", _("The answer is missing."))])
        if _read(self.given.input, "/input") is None and self.kit.schema is None:
            raise Unanswerable(
                [Problem("/input", _("null is sent only where a schema allows it: many read it as no answer."))]
            )
        edits_at = {form.edits_at for form in self.kit.forms.values() if form.edits_at is not None}
        own = {at + one for at in edits_at for one in _repeated(self.given.proposal)}
        _refuse_repeated(self.given.input, "/input", own)
        meaning = self.kit.meaning(self.given.input, proposal=self.given.proposal)
        if meaning is None and self.kit.takes_whole and self.kit.schema is None:
            raise Unanswerable([Problem("/input", _("This is neither of the answers that can be given here."))])
        if meaning and meaning.edits is not None:
            self.check_edits(meaning.edits, "/input" + (self.kit.forms[meaning.verdict].edits_at or ""))
        if self.kit.takes_whole and not self.kit.is_no(self.given.input):
            self.check_names(self.given.input)
        self.check(self.given.input, None)
        return self.given.input

    def check_names(self, answer: str) -> None:
        """An approval with a member nobody asked for would be sent and ignored there: it is refused here."""
        known = _known_names(self.kit.schema)
        if known and not _is_open(self.kit.schema):
            unknown = [jsontext.pointer(name) for name in jsontext.members(answer) if name not in known]
            if unknown:
                raise Unanswerable([Problem("/input" + one, _("There is no such member.")) for one in unknown])

    def input_changes(self, verdict: str, form: AnswerForm) -> dict[str, str | None]:
        if self.given.input is None:
            return {}
        # What a no says beside itself changes nothing that would run: whatever the schema lets through may go along.
        is_no = verdict == "rejected" and self.kit.schema is not None and (form.answer or "").startswith("{")
        if not (is_no or form.input == "members") or not isinstance(_read(self.given.input, "/input"), dict):
            raise Unanswerable([Problem("/input", _("This verdict takes no such input."))])
        _refuse_repeated(self.given.input, "/input")
        taken = {*jsontext.members(form.answer or "{}"), *(at[1:] for at in (form.edits_at, form.comment_at) if at)}
        members = jsontext.members(self.given.input)
        clashes = [name for name in members if name in taken]
        if clashes:
            raise Unanswerable(
                [Problem("/input" + jsontext.pointer(name), _("The verdict itself says this.")) for name in clashes]
            )
        if not is_no:
            self.check_names(self.given.input)
        return {jsontext.pointer(name): text for name, text in members.items()}

    def edit_changes(self, form: AnswerForm) -> dict[str, str | None]:
        edits = self.given.edits
        if edits is None or (self.given.proposal is not None and _same(edits, self.given.proposal)):
            return {}
        if not form.takes_edits:
            raise Unanswerable([Problem("/edits", self.kit.no_edits or _("The arguments cannot be edited here."))])
        self.check_edits(edits, "/edits")
        if form.edits_at is not None:
            return {form.edits_at: edits}
        return {jsontext.pointer(name): text for name, text in jsontext.members(edits).items()}

    def check_edits(self, edits: str, place: str) -> None:
        """Edits replace the arguments whole: an object, of names that somebody knows, fitting their schema."""
        if not isinstance(_read(edits, place), dict):
            raise Unanswerable([Problem(place, _("Edited arguments must be a JSON object."))])
        _refuse_repeated(edits, place, _repeated(self.given.proposal))
        wrong = [*self.kept(edits), *_problems(self.kit.edits_schema, edits)]
        known = {*jsontext.members(self.given.proposal or "{}"), *_known_names(self.kit.edits_schema)}
        known |= _known_names(self.given.parameters)
        if not _is_open(self.kit.edits_schema) and not _is_open(self.given.parameters):
            told = {problem.pointer for problem in wrong}
            unknown = [jsontext.pointer(name) for name in jsontext.members(edits) if name not in known]
            wrong += [Problem(one, _("There is no such argument.")) for one in unknown if one not in told]
        if wrong:
            raise Unanswerable([Problem(place + one.pointer, one.message) for one in wrong])

    def kept(self, edits: str) -> list[Problem]:
        """What was changed though its schema, or the tool's own, says that it is not to be."""
        given = jsontext.parse(self.given.proposal or "{}")
        changed = [one for one in jsontext.changed_paths(given.text, edits) if given.at(one) is not None]
        texts = [text for text in (self.kit.edits_schema, self.given.parameters) if text is not None]
        kept = dict.fromkeys(one for text in texts for one in schemas.kept(text, changed))
        return [Problem(one, _("This is not to be changed, says the schema.")) for one in kept]

    def check(self, text: str, form: AnswerForm | None) -> None:
        wrong = _problems(self.kit.schema, text)
        if wrong:
            raise Unanswerable([Problem(self.origin(one.pointer, form), one.message) for one in wrong])

    def origin(self, pointer: str, form: AnswerForm | None) -> str:
        """From a place in the answer to the part that whoever decides can change."""
        if form is None:
            return "/input" + pointer
        if form.edits_at and (pointer + "/").startswith(form.edits_at + "/"):
            return "/edits" + pointer[len(form.edits_at) :]
        if form.comment_at == pointer:
            return "/comment"
        name = jsontext.parts(pointer)[:1]
        if form.edits_spread and self.given.edits and name and name[0] in jsontext.members(self.given.edits):
            return "/edits" + pointer
        given = bool(name) and name[0] in jsontext.members(self.given.input or "{}")
        return "/input" + pointer if given or (form.input == "members" and pointer) else "/verdict"


def _read(text: str, place: str) -> Any:
    try:
        return jsontext.loads(text)
    except jsontext.JSONTextError as error:
        raise Unanswerable([Problem(place, _("This is not JSON: %(why)s.") % {"why": error})]) from error


def _refuse_repeated(text: str, place: str, own: Collection[str] = ()) -> None:
    """A name that is written twice means one thing here and another to a reader that takes the first."""
    repeated = [one for one in jsontext.parse(text).duplicates if one not in own]
    if repeated:
        raise Unanswerable([Problem(place + one, _("A name stands here more than once.")) for one in repeated])


def _repeated(proposal: str | None) -> tuple[str, ...]:
    """Names that the agent itself wrote twice: left as they are they may go back."""
    try:
        return jsontext.parse(proposal or "{}").duplicates
    except jsontext.JSONTextError:
        return ()


def _same(edits: str, proposal: str) -> bool:
    """Whether edits change nothing; a proposal that is no JSON equals nothing."""
    try:
        return jsontext.same(edits, proposal)
    except jsontext.JSONTextError:
        return False


def _problems(schema: str | None, text: str) -> list[Problem]:
    if schema is None:
        return []
    try:
        return schemas.problems(schema, text)
    except schemas.UnusableSchema:
        # Usable when it was frozen, not on this value (too slow, too deep): then the answer counts as free JSON (T-30).
        return []


def _known_names(schema: str | None) -> set[str]:
    return set(schemas.members(schema)) if schema is not None else set()


def _is_open(schema: str | None) -> bool:
    """Whether a schema invites members it does not name."""
    if schema is None:
        return False
    value = jsontext.loads(schema)
    return isinstance(value, dict) and schemas.invites(schemas.resolve(value, value))

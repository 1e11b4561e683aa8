"""The plain rules: what approving, rejecting, answering and cancelling mean when nobody has rules of their own.

Sources: R-7, R-8 (a no is an answer, cancelling is none), R-19 to R-23, T-57 to T-62.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext_noop as _

from approvals import jsontext, schemas
from approvals.kit.verdicts import ANSWERED, APPROVED, CANCELLED, REJECTED, AnswerForm, VerdictKit
from approvals.validation import shape

COMMENT_NAMES = ("reason", "comment", "feedback", "note", "message")
ALIASES = ("accepted", "confirmed")  # older names of `approved`: nobody has to say it twice
NO_YES = _("The schema has no answer that means yes.")
NO_NO = _("The schema has no answer that means no. Cancelling drops the question instead.")
NO_ANSWER = _("The schema accepts no answer at all.")
NO_EDITS_TAKEN = _("The agent does not say that it takes edited arguments.")
NO_OBJECT = _("The arguments are not a whole JSON object, so they cannot be edited.")
NOTE_EDITS = _("Edited arguments replace the proposed ones whole.")
NOTE_CANCEL = _("The question is dropped without an answer.")

CANCEL = AnswerForm(answer=None, note=NOTE_CANCEL)
FREE = AnswerForm(answer="null", input="whole")
NULLABLE = replace(FREE, note=_("An answer of null is allowed, but some agents read it as no answer."))


def standard_kit(*, reason: str, schema: str | None, has_call: bool, proposal: str | None) -> VerdictKit:
    """The kit by the schema of the answer or, where it says nothing usable, by the reason of the question."""
    given = None if schema is None or schema.strip() == "null" else schema
    if given is None:
        return _offer(_by_reason(reason))
    if schemas.usable(given) is not None:
        return _offer({**_by_reason(reason), ANSWERED: FREE})
    root = jsontext.loads(given)
    kit = _by_schema(root, given, proposal if has_call else None)
    no_edits = kit.no_edits or (NO_OBJECT if has_call and proposal is None else "")
    return replace(kit, schema=given, no_edits="" if kit.can_edit else no_edits)


def _offer(forms: dict[str, AnswerForm], **more: Any) -> VerdictKit:
    return VerdictKit(forms={**forms, CANCELLED: CANCEL}, **more)


def _by_reason(reason: str) -> dict[str, AnswerForm]:
    """R-20: a yes/no question gets a yes or a no, a tool call `approved`, anything else what a person types."""
    if reason == "confirmation":
        return {APPROVED: AnswerForm(answer="true"), REJECTED: AnswerForm(answer="false")}
    if reason == "tool_call":
        return {APPROVED: AnswerForm(answer='{"approved":true}'), REJECTED: AnswerForm(answer='{"approved":false}')}
    return {ANSWERED: FREE}


def _by_schema(root: Any, text: str, proposal: str | None) -> VerdictKit:
    if not isinstance(root, dict):
        return _offer({ANSWERED: NULLABLE}) if root else _offer({}, impossible={ANSWERED: NO_ANSWER})
    node = schemas.resolve(root, root)
    if node.get("enum") == []:
        return _offer({}, impossible={ANSWERED: NO_ANSWER})
    if _is_boolean(node):
        forms = {APPROVED: AnswerForm(answer="true"), REJECTED: AnswerForm(answer="false")}
        return _possible(forms, text)
    members = shape.members_of(root, root)
    if "approved" in members and _is_boolean(members["approved"]):
        return _Approval(root, text, members, proposal).kit()
    return _offer({ANSWERED: NULLABLE if schemas.holds(root, root, "null") else FREE})


def _is_boolean(node: dict[str, Any]) -> bool:
    values = node.get("enum", [node["const"]] if "const" in node else [])
    return node.get("type") == "boolean" or (bool(values) and all(isinstance(one, bool) for one in values))


def _is_text(node: dict[str, Any]) -> bool:
    kinds = node.get("type", [one.get("type") for one in node.get("anyOf", []) if isinstance(one, dict)])
    return "string" in (kinds if isinstance(kinds, list) else [kinds]) and not {"enum", "const"} & node.keys()


def _possible(forms: dict[str, AnswerForm], schema: str, **more: Any) -> VerdictKit:
    """Only what can fit the schema is offered; `const: true` is a question to which nobody can say no."""
    why_not = {APPROVED: NO_YES, REJECTED: NO_NO}
    offered = {verdict: form for verdict, form in forms.items() if _can_fit(form, schema)}
    impossible = {verdict: why_not[verdict] for verdict in forms if verdict not in offered}
    return _offer(offered or {ANSWERED: FREE}, impossible=impossible, **more)


def _can_fit(form: AnswerForm, schema: str) -> bool:
    """Whether the answer fits, or could once its comment or other members are filled in."""
    try:
        wrong = schemas.problems(schema, form.answer or "null")
    except schemas.UnusableSchema:
        return True
    fixed = {jsontext.pointer(name) for name in jsontext.members(form.answer or "")}
    if form.input == "members":
        return not any(one.pointer in fixed for one in wrong)
    return all(one.pointer == form.comment_at for one in wrong)


@dataclass(frozen=True)
class _Approval:
    """A schema with a boolean `approved`: yes and no are members of an object."""

    root: dict[str, Any]
    text: str
    members: dict[str, dict[str, Any]]
    proposal: str | None

    def kit(self) -> VerdictKit:
        yes, no = self.answer(True), self.answer(False)
        form = AnswerForm(answer=yes, comment_at=self.comment_at(), input="members" if self.others() else "none")
        approve = form
        if self.is_object and self.takes_arguments:
            approve = replace(form, edits_at="/editedArgs", note=NOTE_EDITS)
        elif self.is_spread:
            approve = replace(form, edits_spread=True, note=NOTE_EDITS)
        return _possible(
            {APPROVED: approve, REJECTED: replace(form, answer=no)},
            self.text,
            edits_schema=self.edits_schema() if approve.takes_edits else None,
            no_edits="" if approve.takes_edits else self.why_no_edits(),
        )

    @property
    def arguments(self) -> list[str]:
        return list(jsontext.members(self.proposal)) if self.proposal is not None and self.is_object else []

    @property
    def is_object(self) -> bool:
        try:
            return self.proposal is not None and isinstance(jsontext.loads(self.proposal), dict)
        except jsontext.JSONTextError:
            return False

    @property
    def takes_arguments(self) -> bool:
        """Whether `editedArgs` may be an object: arguments as a text inside a text are no place for edits."""
        kinds = self.members.get("editedArgs", {"type": []}).get("type", "object")
        return "object" in (kinds if isinstance(kinds, list) else [kinds])

    @property
    def is_spread(self) -> bool:
        """Every argument is a member of the answer beside `approved` (as Microsoft's agent framework had it)."""
        return "editedArgs" not in self.members and bool(self.arguments) and self.members.keys() >= set(self.arguments)

    def why_no_edits(self) -> str:
        if self.proposal is None:
            return ""
        return NO_EDITS_TAKEN if self.is_object else NO_OBJECT

    def answer(self, approved: bool) -> str:
        """`approved` with what must be there and leaves no choice: required constants, required arguments."""
        value: dict[str, Any] = {"approved": approved}
        needed = schemas.resolve(self.root, self.root).get("required", [])
        value |= {
            name: node["const"]
            for name, node in self.members.items()
            if name in needed and name not in value and "const" in node
        }
        text = jsontext.dumps(value)
        if "editedArgs" in needed and self.is_object:
            text = jsontext.replace(text, {"/editedArgs": self.proposal})
        return text

    def comment_at(self) -> str | None:
        """Where a comment for the other side goes; a tool's own `message` argument is no comment."""
        names = [name for name in COMMENT_NAMES if name in self.members and name not in self.arguments]
        return next((jsontext.pointer(name) for name in names if _is_text(self.members[name])), None)

    def others(self) -> list[str]:
        """Members that a person may or must fill in beside the verdict, the edits and the comment."""
        said = {"approved", "editedArgs", *self.arguments, *jsontext.members(self.answer(True))}
        said |= {name for name in ALIASES if _is_boolean(self.members.get(name, {}))}
        return [name for name in self.members if name not in said and jsontext.pointer(name) != self.comment_at()]

    def edits_schema(self) -> str | None:
        """The schema of edits as a document of its own; None where it cannot stand alone."""
        if "editedArgs" in self.members:
            inner = self.members["editedArgs"]
        else:
            inner = {"type": "object", "properties": {name: self.members[name] for name in self.arguments}}
        text = schemas.part(self.root, inner)
        return text if schemas.usable(text) is None else None

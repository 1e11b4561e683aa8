"""What each verdict on a task means as an answer, or why it cannot be given."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from approvals import jsontext
from approvals.kit.answering import Meaning, Parts, meaning

APPROVED, REJECTED, ANSWERED, CANCELLED = "approved", "rejected", "answered", "cancelled"


@dataclass(frozen=True, kw_only=True)
class AnswerForm:
    """One verdict as a JSON answer with places where edits, a comment and input go."""

    answer: str | None  # JSON text of what it means before anything is filled in; None: no answer is sent
    edits_at: str | None = None  # pointer where edited arguments go as one object; None: no edits
    edited: str | None = None  # what it means instead once there are edits; None: the same answer with them in it
    edits_spread: bool = False  # edits become top-level members of the answer instead
    comment_at: str | None = None  # pointer where the comment goes; None: it stays in the trail
    input: str = "none"  # "none" | "members" (other members of the answer) | "whole" (the input is the answer)
    note: str = ""  # one sentence under the button: what the other side does with it

    @property
    def takes_edits(self) -> bool:
        return self.edits_at is not None or self.edits_spread


@dataclass(frozen=True, kw_only=True)
class VerdictKit:
    """The verdicts offered on one task, in order, and what is sent for each."""

    forms: dict[str, AnswerForm]
    impossible: dict[str, str] = field(default_factory=dict)  # verdict → sentence why not
    cancel: str = "safe"  # "safe" | "unclear" | "runs"
    schema: str | None = None  # text of the answer's schema if usable; None: the answer is free JSON
    edits_schema: str | None = None  # text of the schema that edited arguments must fit
    no_edits: str = ""  # sentence: why the arguments cannot be edited

    @property
    def can_edit(self) -> bool:
        return any(form.takes_edits for form in self.forms.values())

    def to_json(self) -> str:
        return jsontext.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> VerdictKit:
        value = json.loads(text)
        forms = {verdict: AnswerForm(**form) for verdict, form in value.pop("forms").items()}
        return cls(forms=forms, **value)

    def answer(
        self,
        verdict: str,
        *,
        proposal: str | None,
        edits: str | None = None,
        input: str | None = None,
        comment: str = "",
        parameters: str | None = None,
    ) -> str | None:
        """The exact JSON text to send; None for a verdict that sends none. `Unanswerable` says what is wrong where.

        `parameters`: text of the tool's own schema of its arguments, if known; edits may name what it names.
        """
        parts = Parts(self, proposal=proposal, edits=edits, input=input, comment=comment, parameters=parameters)
        return parts.whole() if verdict == ANSWERED and self.takes_whole else parts.built(verdict)

    @property
    def takes_whole(self) -> bool:
        """A whole answer is taken wherever approving or rejecting would send one."""
        form = self.forms.get(ANSWERED)
        return form is None and any(one.answer is not None for one in self.forms.values())

    def meaning(self, answer: str, *, proposal: str | None = None) -> Meaning | None:
        """The verdict that this whole answer is, with its edits and comment taken out; None if it is just an answer."""
        for verdict, form in self.forms.items():
            found = meaning(verdict, form, answer, proposal) if form.input != "whole" else None
            if found is not None:
                return found
        return None

    def is_no(self, answer: str) -> bool:
        """Whether this whole answer says all that rejecting says, whatever else it says."""
        form = self.forms.get(REJECTED)
        said = jsontext.members(form.answer or "") if form else {}
        given = jsontext.members(answer)
        return bool(said) and all(name in given and jsontext.same(given[name], text) for name, text in said.items())

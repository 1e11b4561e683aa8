"""What a person fills in on one task: the arguments, the answer and a comment, and what was meant by posting them.

A sheet has up to three parts, each a tree of fields over one JSON value, with names of its own in one form:
`edits` over the proposed arguments, `whole` over the answer, `members` over what an approval says beside the verdict.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from approvals import forms, jsontext, schemas
from approvals.answering import Given
from approvals.exhibits import Content
from approvals.forms import FieldTree, Read
from approvals.kit import ANSWERED, AnswerForm, VerdictKit
from approvals.models import Decision
from approvals.refusals import Invalid
from approvals.schemas import Problem

PREFIXES = {"edits": "v", "whole": "a", "members": "m"}


@dataclass(frozen=True, kw_only=True)
class Part:
    """One value that can be filled in, before anybody did: its schema and the text that its fields stand over."""

    schema: str | None
    base: str | None


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The form of one task as the templates draw it."""

    edits: FieldTree | None
    whole: FieldTree | None
    members: FieldTree | None
    comment: str
    comment_note: str
    comment_required: bool
    key: str = field(default_factory=lambda: secrets.token_urlsafe(12))  # of this rendering: a double click counts once
    problems: list[Problem] = field(default_factory=list)  # all of them, for the summary above the form
    comment_problems: list[str] = field(default_factory=list)
    was_posted: bool = False

    @property
    def wrong(self) -> list[tuple[Problem, str]]:
        """Each problem with the id of the control that mends it; "" where no single control does."""
        return [(one, self._control(one.pointer)) for one in self.problems]

    def _control(self, pointer: str) -> str:
        tree = self.edits if pointer.startswith("/edits") else self.whole or self.members
        return tree.control(inner(pointer)) if tree and pointer.startswith(("/edits", "/input")) else ""


@dataclass(frozen=True, kw_only=True)
class Blank:
    """An unfilled sheet: what may be filled in on this task by this person."""

    kit: VerdictKit
    verdicts: list[str]
    parts: dict[str, Part]
    place: int = 0  # of the task on its page: names and ids of two forms never meet
    comment: str = ""
    comment_required: bool = False

    def sheet(self, post: Mapping[str, str] | None = None, problems: list[Problem] | None = None) -> Sheet:
        """To be shown: as it is, or as posted with every typed character and what is wrong beside it."""
        problems = problems or []
        return Sheet(
            edits=self._tree("edits", post, problems),
            whole=self._tree("whole", post, problems),
            members=self._tree("members", post, problems),
            comment=self.comment if post is None else post.get("comment", ""),
            comment_note=comment_note(self.kit, self.verdicts),
            comment_required=self.comment_required,
            problems=problems,
            comment_problems=[one.message for one in problems if one.pointer == "/comment"],
            was_posted=post is not None,
        )

    def read(self, post: Mapping[str, str]) -> Given:
        """What was meant. Raises Invalid with pointers into {"edits", "input", "comment", "verdict"}."""
        verdict = post.get("verdict", "")
        form = self.kit.forms.get(verdict) or AnswerForm(answer=None)
        used = {"edits": form.takes_edits, "whole": form.input == "whole", "members": form.input == "members"}
        read = {name: self._read(name, post) for name in self.parts if used[name]}
        problems = [placed(name, one) for name, each in read.items() for one in each.problems]
        if problems:
            raise Invalid(problems)
        texts = {name: each.text for name, each in read.items()}
        filled = texts.get("members")
        return Given(
            verdict=verdict,
            edits=texts.get("edits"),
            input=texts.get("whole") if filled is None or not jsontext.members(filled) else filled,
            comment=post.get("comment", "").replace("\r\n", "\n"),
        )

    def in_form(self, problem: Problem, post: Mapping[str, str]) -> Problem:
        """The same problem at the field where it can be mended: items keep the numbers they had in the form."""
        name = "edits" if problem.pointer.startswith("/edits") else "whole" if "whole" in self.parts else "members"
        if name not in self.parts or not problem.pointer.startswith(("/edits", "/input")):
            return problem
        inside = self._read(name, post).place(inner(problem.pointer))
        return Problem(problem.pointer[:6] + inside, problem.message)

    def _tree(self, name: str, post: Mapping[str, str] | None, problems: list[Problem]) -> FieldTree | None:
        part, starts = self.parts.get(name), "/edits" if name == "edits" else "/input"
        if part is None:
            return None
        own = [Problem(inner(one.pointer), one.message) for one in problems if one.pointer.startswith(starts)]
        return forms.build(part.schema, part.base, prefix=self._prefix(name), post=post, problems=own)

    def _read(self, name: str, post: Mapping[str, str]) -> Read:
        return forms.read(post, self.parts[name].schema, self.parts[name].base, prefix=self._prefix(name))

    def _prefix(self, name: str) -> str:
        return f"{PREFIXES[name]}{self.place or ''}"


def blank(
    exhibit: Content, kit: VerdictKit, verdicts: list[str], *, may_edit: bool, reason_required: bool,
    place: int = 0, earlier: Decision | None = None,
) -> Blank:  # fmt: skip
    """The sheet of a task. `earlier`: the decision that this asking repeats, filled in already."""
    offered = {verdict: kit.forms[verdict] for verdict in verdicts}
    parts: dict[str, Part] = {}
    filled = earlier.input if earlier else None
    if may_edit and exhibit.proposal is not None:
        base = earlier.edits if earlier else None
        parts["edits"] = Part(schema=arguments_schema(exhibit, kit), base=base or exhibit.proposal)
    if any(form.input == "whole" for form in offered.values()):
        parts["whole"] = Part(schema=kit.schema, base=filled)
    elif others := [form for form in offered.values() if form.input == "members"]:
        parts["members"] = Part(schema=members_schema(kit, others[0], exhibit), base=filled or "{}")
    comment = earlier.comment if earlier else ""
    return Blank(
        kit=kit, verdicts=verdicts, parts=parts, place=place, comment=comment, comment_required=reason_required
    )


def arguments_schema(exhibit: Content, kit: VerdictKit) -> str | None:
    """What is known of the arguments' shape: what the other side accepts, else what the tool says of itself."""
    if kit.edits_schema is not None and schemas.members(kit.edits_schema):
        return kit.edits_schema
    return exhibit.parameters or kit.edits_schema


def members_schema(kit: VerdictKit, form: AnswerForm, exhibit: Content) -> str:
    """The answer's schema less what the verdict, the edits and the comment say already."""
    known = schemas.members(kit.schema) if kit.schema is not None else {}
    said = {*jsontext.members(form.answer or "{}"), *(at[1:] for at in (form.edits_at, form.comment_at) if at)}
    said |= {*jsontext.members(exhibit.proposal or "{}")} if form.edits_spread else set()
    root = jsontext.loads(kit.schema or "{}")
    needed = schemas.resolve(root, root).get("required", [])
    rest = {name: node for name, node in known.items() if name not in said}
    shared = {name: root[name] for name in ("$schema", "$defs", "definitions") if name in root}
    required = [name for name in needed if name in rest]
    return jsontext.dumps({**shared, "type": "object", "properties": rest, "required": required})


def comment_note(kit: VerdictKit, verdicts: list[str]) -> str:
    """Who reads the comment: the record always, the other side only where the answer has a place for it."""
    sending = [verdict for verdict in verdicts if kit.forms[verdict].answer is not None or verdict == ANSWERED]
    told = [verdict for verdict in sending if kit.forms[verdict].comment_at is not None]
    if not told:
        return _("For the record; the agent does not see it.")
    if told == sending:
        return _("For the record; the agent sees it too.")
    words = {"approved": _("Approve"), "rejected": _("Reject"), "answered": _("Answer")}
    named = ", ".join(words.get(verdict, verdict) for verdict in told)
    return _("For the record; the agent sees it with: %(verdicts)s.") % {"verdicts": named}


def placed(name: str, problem: Problem) -> Problem:
    return Problem(("/edits" if name == "edits" else "/input") + problem.pointer, problem.message)


def inner(pointer: str) -> str:
    """From a place in what was posted to the place inside its part."""
    return pointer[len("/edits") :]  # "/input" is as long

"""What a person fills in on one task: the arguments, the answer and a comment, and what was meant by posting them.

A sheet has up to three parts, each a tree of fields over one JSON value, with names of its own in one form:
`edits` over the proposed arguments, `whole` over the answer, `members` over what an approval says beside the verdict.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.utils.translation import gettext as _

from approvals import forms, jsontext, schemas
from approvals.exhibits import Content
from approvals.foreign import diff
from approvals.forms import FieldTree, Read
from approvals.kit import ANSWERED, AnswerForm, VerdictKit
from approvals.models import Decision, Task
from approvals.refusals import Invalid
from approvals.schemas import Problem
from approvals.verbs import friction, reasons
from approvals.verbs.answering import Given
from approvals.verbs.friction import Distinctive

CONTROLS = {"/comment": "comment", "/reasonCode": "reason", "/typed": "typed", "/read": "read"}
PREFIXES = {"edits": "v", "whole": "a", "members": "m"}


@dataclass(frozen=True, kw_only=True)
class Part:
    """One value that can be filled in, before anybody did: its schema and the text that its fields stand over."""

    schema: str | None
    base: str | None


@dataclass(frozen=True, kw_only=True)
class SecondLook:
    """A yes that was asked for and is shown once more before it counts (`approvals.verbs.friction`)."""

    verdict: str
    token: str
    answer: str | None  # exact JSON text that would leave


@dataclass(frozen=True, kw_only=True)
class LeftOver:
    """What was typed over something that is not asked any more: to be read, never filled in by us."""

    at: datetime
    comment: str
    changes: list[diff.Change]
    texts: list[str]  # exact JSON of answers


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The form of one task as the templates draw it."""

    code: str
    edits: FieldTree | None
    whole: FieldTree | None
    members: FieldTree | None
    comment: str
    comment_note: str
    comment_required: bool
    comment_least: int
    reasons: list[tuple[str, str]]
    reason_code: str = ""
    distinctive: Distinctive | None = None  # high risk only: the value to type
    typed: str = ""
    read_all: bool = False
    changes: list[diff.Change] = field(default_factory=list)  # of the arguments, as far as they can be read
    fields: Mapping[str, str] = field(default_factory=dict)  # as posted, for the second look
    second_look: SecondLook | None = None
    stale: LeftOver | None = None
    kept_at: datetime | None = None  # of the draft that fills it
    key: str = field(default_factory=lambda: secrets.token_urlsafe(12))  # of this rendering: a double click counts once
    problems: list[Problem] = field(default_factory=list)  # all of them, for the summary above the form
    was_posted: bool = False

    @property
    def wrong(self) -> list[tuple[Problem, str, str]]:
        """Each problem with the id of the control that mends it ("": no single one does) and its place ("": ours)."""
        return [(one, self._control(one.pointer), place_of(one.pointer)) for one in self.problems]

    @property
    def said(self) -> dict[str, list[str]]:
        """What is wrong beside the fields, by the name of the control."""
        return {name: [p.message for p in self.problems if p.pointer == at] for at, name in CONTROLS.items()}

    def _control(self, pointer: str) -> str:
        if pointer in CONTROLS:
            return f"{CONTROLS[pointer]}-{self.code}"
        tree = self.edits if pointer.startswith("/edits") else self.whole or self.members
        return tree.control(inner(pointer)) if tree and pointer.startswith(("/edits", "/input")) else ""


@dataclass(frozen=True, kw_only=True)
class Blank:
    """An unfilled sheet: what may be filled in on this task by this person."""

    task: Task
    exhibit: Content
    kit: VerdictKit
    verdicts: list[str]
    parts: dict[str, Part]
    comment: str = ""
    reason_code: str = ""

    def sheet(
        self, post: Mapping[str, str] | None = None, problems: list[Problem] | None = None, *,
        second_look: SecondLook | None = None, stale: LeftOver | None = None, kept_at: datetime | None = None,
    ) -> Sheet:  # fmt: skip
        """To be shown: as it is, or as posted with every typed character and what is wrong beside it.

        `kept_at`: what is in `post` is a draft, which nobody has sent.
        """
        problems, queue = problems or [], self.task.queue
        told = {} if post is None else post
        return Sheet(
            code=self.task.code,
            edits=self._tree("edits", post, problems),
            whole=self._tree("whole", post, problems),
            members=self._tree("members", post, problems),
            comment=told.get("comment", stale.comment if stale else self.comment),
            comment_note=comment_note(self.kit, self.verdicts),
            comment_required=queue.reason_required,
            comment_least=queue.reason_length,
            reasons=reasons.of(queue),
            reason_code=told.get("reason_code", self.reason_code),
            distinctive=friction.distinctive(self.exhibit.proposal) if friction.is_high(queue) else None,
            typed=told.get("typed", ""),
            read_all=told.get("read_all") == "1",
            changes=self.changes(told),
            fields=told,
            second_look=second_look,
            stale=stale,
            kept_at=kept_at,
            problems=problems,
            was_posted=post is not None and kept_at is None,
        )

    def changes(self, post: Mapping[str, str]) -> list[diff.Change]:
        """What the fields change about the proposal; nothing while they cannot be read."""
        if "edits" not in self.parts or not post or self.exhibit.proposal is None:
            return []
        read = self._read("edits", post)
        if read.problems or read.text is None:
            return []
        return diff.argument_diff(self.exhibit.proposal, read.text)

    def left_over(self, post: Mapping[str, str], *, at: datetime) -> LeftOver:
        """What a draft says, where this is no longer what is asked."""
        read = [self._read(name, post) for name in self.parts if name != "edits"]
        texts = [each.text for each in read if each.text is not None and not each.problems and each.text != "{}"]
        return LeftOver(at=at, comment=post.get("comment", ""), changes=self.changes(post), texts=texts)

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
            reason_code=post.get("reason_code", ""),
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
        # By the task's place on its page: names and ids of two forms never meet.
        return f"{PREFIXES[name]}{self.task.position or ''}"


def blank(
    task: Task, exhibit: Content, kit: VerdictKit, verdicts: list[str], *, may_edit: bool,
    earlier: Decision | None = None,
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
    said = (earlier.comment, earlier.reason_code) if earlier else ("", "")
    return Blank(
        task=task, exhibit=exhibit, kit=kit, verdicts=verdicts, parts=parts, comment=said[0], reason_code=said[1]
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
        return _("Reason and comment are for the record; the agent does not see them.")
    if told == sending:
        return _("Reason and comment are for the record; the agent sees the comment too.")
    words = {"approved": _("Approve"), "rejected": _("Reject"), "answered": _("Answer")}
    named = ", ".join(words.get(verdict, verdict) for verdict in told)
    told_with = _("Reason and comment are for the record; the agent sees the comment with: %(verdicts)s.")
    return told_with % {"verdicts": named}


def place_of(pointer: str) -> str:
    """A place as the form names it, `contact › phone`; "" for a control of ours. Programs get the pointer itself."""
    if pointer in CONTROLS:
        return ""
    within = jsontext.parts(pointer)[1:] if pointer.startswith(("/input/", "/edits/")) else []
    return " › ".join(within) or pointer


def placed(name: str, problem: Problem) -> Problem:
    return Problem(("/edits" if name == "edits" else "/input") + problem.pointer, problem.message)


def inner(pointer: str) -> str:
    """From a place in what was posted to the place inside its part."""
    return pointer[len("/edits") :]  # "/input" is as long

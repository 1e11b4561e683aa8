"""From what a person sent to the one answer that is recorded. Asks the verdict kit; writes nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from django.utils.translation import gettext as _

from approvals import jsontext
from approvals.exhibits import Content
from approvals.kit import Unanswerable, VerdictKit
from approvals.models import Queue
from approvals.models.cases import Verdict
from approvals.refusals import Invalid
from approvals.schemas import Problem
from approvals.verbs import reasons


@dataclass(frozen=True, kw_only=True)
class Given:
    """What was sent: exact JSON texts, or None for what was left out."""

    verdict: str
    edits: str | None = None
    input: str | None = None
    comment: str = ""
    reason_code: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer(Given):
    """What will be recorded. `answer` is the exact JSON text that leaves; None: none is sent."""

    answer: str | None


def prepare(given: Given, *, kit: VerdictKit, exhibit: Content, queue: Queue) -> Answer:
    """Check everything against the kit and build the answer. Raises Invalid with pointers into what was sent."""
    problems = [*_unreadable("edits", given.edits), *_unreadable("input", given.input)]
    if given.verdict not in Verdict.values:
        problems.append(Problem("/verdict", _("The verdict is one of: %s.") % ", ".join(Verdict.values)))
    # A whole answer may hold the comment that a queue asks for.
    meant = given if problems else _as_meant(given, kit, exhibit.proposal)
    problems += reasons.problems(queue, code=meant.reason_code, comment=meant.comment)
    if problems:
        raise Invalid(problems)
    said = {**asdict(meant), "comment": reasons.told(queue, meant.reason_code, meant.comment)}
    del said["reason_code"]
    try:
        answer = kit.answer(**said, proposal=exhibit.proposal, parameters=exhibit.parameters)
    except Unanswerable as unanswerable:
        raise Invalid(unanswerable.problems) from None
    return Answer(**asdict(meant), answer=answer)


def _unreadable(name: str, text: str | None) -> list[Problem]:
    if text is None:
        return []
    try:
        jsontext.parse(text)
    except jsontext.JSONTextError as problem:
        return [Problem(f"/{name}", _("This is not JSON: %s") % problem)]
    return []


def _as_meant(given: Given, kit: VerdictKit, proposal: str | None) -> Given:
    """In its plainest form: a whole answer that is a yes is a yes; edits that change nothing are none."""
    if given.verdict == Verdict.ANSWERED and given.input is not None:
        meaning = kit.meaning(given.input, proposal=proposal)
        if meaning:
            comment = meaning.comment or given.comment
            given = replace(given, verdict=meaning.verdict, edits=meaning.edits, input=None, comment=comment)
    if given.edits is not None and proposal is not None and jsontext.same(given.edits, proposal):
        given = replace(given, edits=None)
    return given

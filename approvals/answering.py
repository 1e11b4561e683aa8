"""From what a person sent to the one answer that is recorded. Asks the verdict kit; writes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from approvals import jsontext
from approvals.kit import AnswerForm, Unanswerable, VerdictKit
from approvals.models.cases import Verdict
from approvals.refusals import Invalid
from approvals.schemas import Problem

COMMENT_LIMIT = 10_000  # characters


@dataclass(frozen=True, kw_only=True)
class Given:
    """What was sent: exact JSON texts, or None for what was left out."""

    verdict: str
    edits: str | None = None
    input: str | None = None
    comment: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer(Given):
    """What will be recorded. `answer` is the exact JSON text that leaves; None: none is sent."""

    answer: str | None


def prepare(given: Given, *, kit: VerdictKit, proposal: str | None, reason_required: bool) -> Answer:
    """Check everything against the kit and build the answer. Raises Invalid with pointers into what was sent."""
    problems = [*_unreadable("edits", given.edits), *_unreadable("input", given.input)]
    problems += _about_comment(given.comment, reason_required)
    if given.verdict not in Verdict.values:
        problems.append(Problem("/verdict", _("The verdict is one of: %s.") % ", ".join(Verdict.values)))
    if problems:
        raise Invalid(problems)
    meant = _as_meant(given, kit, proposal)
    _offered(meant, kit)
    try:
        answer = kit.answer(
            meant.verdict, proposal=proposal, edits=meant.edits, input=meant.input, comment=meant.comment
        )
    except Unanswerable as unanswerable:
        raise Invalid(unanswerable.problems) from None
    return Answer(
        verdict=meant.verdict, edits=meant.edits, input=meant.input, comment=meant.comment, answer=answer
    )


def _unreadable(name: str, text: str | None) -> list[Problem]:
    if text is None:
        return []
    try:
        jsontext.parse(text)
    except jsontext.JSONTextError as problem:
        return [Problem(f"/{name}", _("This is not JSON: %s") % problem)]
    return []


def _about_comment(comment: str, required: bool) -> list[Problem]:
    if required and not comment.strip():
        return [Problem("/comment", _("In this queue every decision needs a reason."))]
    if len(comment) > COMMENT_LIMIT:
        return [Problem("/comment", _("A comment has at most %d characters.") % COMMENT_LIMIT)]
    return []


def _as_meant(given: Given, kit: VerdictKit, proposal: str | None) -> Given:
    """The same decision in its plainest form: a whole answer that is a yes is a yes; edits that change nothing are none."""
    if given.verdict == Verdict.ANSWERED and given.input is not None:
        given = _recognized(given, kit, proposal)
    if given.edits is not None and proposal is not None and jsontext.same(given.edits, proposal):
        given = replace(given, edits=None)
    return given


def _recognized(given: Given, kit: VerdictKit, proposal: str | None) -> Given:
    whole = given.input or ""
    for verdict in (Verdict.APPROVED, Verdict.REJECTED):
        form = kit.forms.get(verdict)
        if form is None or form.answer is None:
            continue
        edits = _at(whole, form.edits_at)
        guess = replace(given, verdict=verdict.value, input=None, edits=edits, comment=_comment_in(whole, form) or "")
        try:
            answer = kit.answer(verdict, proposal=proposal, edits=edits, input=None, comment=guess.comment)
        except Unanswerable:
            continue
        if answer is not None and jsontext.same(answer, whole):
            return replace(guess, comment=guess.comment or given.comment)
    return given


def _comment_in(whole: str, form: AnswerForm) -> str | None:
    text = _at(whole, form.comment_at)
    value = None if text is None else jsontext.loads(text)
    return value if isinstance(value, str) and not isinstance(value, jsontext.Number) else None


def _at(whole: str, pointer: str | None) -> str | None:
    if pointer is None:
        return None
    document = jsontext.parse(whole)
    node = document.at(pointer)
    return None if node is None else document.source(node)


def _offered(meant: Given, kit: VerdictKit) -> None:
    if meant.verdict not in kit.forms:
        sentence = kit.impossible.get(meant.verdict) or _("This verdict is not offered here.")
        raise Invalid([Problem("/verdict", sentence)])
    if meant.edits is not None and not (kit.can_edit and meant.verdict == Verdict.APPROVED):
        raise Invalid([Problem("/edits", kit.impossible.get("edits") or _("The arguments cannot be changed here."))])

"""Decide and recall: the two deeds of a reviewer that count. Everything is asked again under the lock of the case."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from approvals import audit, clock, exhibits, jsontext, locking, permissions, sentences
from approvals.exhibits import Content
from approvals.kit import VerdictKit
from approvals.models import AuditEntry, Case, Decision, Task, User
from approvals.models.cases import State
from approvals.models.people import Role
from approvals.refusals import (
    AlreadyDecided,
    Blocked,
    Changed,
    Expired,
    Invalid,
    NotAllowed,
    Quarantined,
    Taken,
    Withdrawn,
    WrongState,
)
from approvals.schemas import Problem
from approvals.trail import anchors, attempts, chain
from approvals.verbs import answering, casework, opening
from approvals.verbs.answering import Answer, Given

SAME_QUESTION = "interruptId"  # tasks of a case that agree in this ref are one question asked twice

NAMELESS: dict[str, str] = {Decision.ByKind.CALLER: "The caller", Decision.ByKind.POLICY: "A rule"}


@attempts.told("decide")
@transaction.atomic
def decide(
    task: Task,
    *,
    by: User | None,
    verdict: str,
    edits: str | None = None,
    input: str | None = None,
    comment: str = "",
    reason_code: str = "",
    shown_digest: str,
    idempotency_key: str = "",
    by_kind: str = Decision.ByKind.PERSON,
    batch: str = "",
    now: datetime,
) -> Decision:
    """Record the answer to a task, exactly as it will leave; the last one of a case settles the case.

    The same person with the same key and content gets the decision that was recorded then. Its task and case are as
    they are now. `batch`: the list of which it is one (`verbs.batch`). `by` None: whoever asked also answered
    (`by_kind` caller), and there is no undo.
    Raises NotAllowed, AlreadyDecided, Withdrawn, Quarantined, Expired, Blocked, Changed,
    Unread, Invalid.
    """
    if missing := anchors.refusal():
        raise Blocked(missing)
    case, task = locking.locked(task)
    by = locking.locked_person(by) if by else None
    given = Given(verdict=verdict, edits=edits, input=input, comment=comment, reason_code=reason_code)
    if by and idempotency_key and (stored := task.decided_under(idempotency_key, by)):
        return _same_again(stored, given, shown_digest)
    _may(by, task, given.verdict)
    _still_asked(case, task, shown_digest, now)
    exhibit = _shown(task, shown_digest)
    answer = _prepared(task, given, exhibit)
    _may(by, task, answer.verdict)
    opening.check(task, exhibit, answer.verdict, by=by)
    _one_answer_to_one_question(task, answer)
    decision = Decision.objects.create(
        task=task,
        by=by,
        by_kind=by_kind,
        shown_digest=shown_digest,
        idempotency_key=idempotency_key,
        at=now,
        **asdict(answer),
    )
    _settle(task)
    settled = _settle_if_complete(case, now, undo=by is not None)
    entry = _record_decided(decision, now, batch)
    if settled:
        _record_settled(case, after=entry, now=now)
    return decision


@attempts.told("take back")
@transaction.atomic
def recall(case: Case, *, by: User, task: Task | None = None, now: datetime) -> list[Decision]:
    """Take back one's own decisions of a case (or on one task), until the case is taken.

    Raises Taken, Expired, Withdrawn, WrongState (nothing to take back), NotAllowed (somebody else's).
    """
    case = locking.locked_case(case)
    by = locking.locked_person(by)
    if permissions.role_of(by) not in (Role.REVIEWER, Role.OPERATOR):
        raise NotAllowed(_("Only those who decide take decisions back."))
    live = Decision.objects.live().filter(task__case=case).select_related("task__queue").order_by("task__position")
    asked = list(live.filter(task=task) if task else live)
    own = [decision for decision in asked if decision.by_id == by.pk]
    if not own and asked:
        raise NotAllowed(_("Only the author takes a decision back."))
    _recallable(case, now)
    if not own:
        raise WrongState(_("There is no decision to recall."))
    for decision in own:
        _may(by, decision.task, decision.verdict)
    Decision.objects.filter(pk__in=[decision.pk for decision in own]).update(recalled_at=now)
    casework.ask_again(case, [decision.task for decision in own], by=by, now=now)
    for decision in own:
        _record_recalled(decision, by, now)
    return own


def _may(by: User | None, task: Task, verdict: str) -> None:
    sentence = permissions.can_decide(by, task, verdict) if by else permissions.caller_can_decide(task, verdict)
    if sentence:
        raise NotAllowed(sentence)


def _still_asked(case: Case, task: Task, shown_digest: str, now: datetime) -> None:
    """Every reason why a task can no longer, or not yet, be decided; the most final one first."""
    if case.state == State.WITHDRAWN:
        raise Withdrawn(_("Nobody asks this any more: %s.") % case.get_ended_because_display())
    # Deciding settles a task and taking back opens it, so an open one has no live decision (the index says so too).
    live = None if task.state == State.OPEN else task.decisions.live().select_related("by").first()
    if live:
        raise AlreadyDecided(live)
    if case.state == State.QUARANTINED:
        raise Quarantined(_("This case came after an error in the stream. An operator must accept it first."))
    if case.is_expired(clock.at_least(now)):
        raise Expired(_("Time ran out: an answer would come too late."))
    if case.blocked:
        raise Blocked(sentences.told(case.blocked))
    if task.state != State.OPEN or case.state != State.OPEN:
        raise WrongState(_("This task is not open: it is %s.") % task.get_state_display())
    if task.shown_digest != shown_digest:
        raise Changed(_("What is asked has changed since it was shown. Read it again."))


def _shown(task: Task, digest: str) -> Content:
    return exhibits.load(task.body_of(digest))


def _prepared(task: Task, given: Given, exhibit: Content) -> Answer:
    return answering.prepare(given, kit=VerdictKit.from_json(task.kit), exhibit=exhibit, queue=task.queue)


def _same_again(stored: Decision, given: Given, shown_digest: str) -> Decision:
    """The decision of the first time. Raises Invalid `idempotency_mismatch` when the key came with something else."""
    if stored.shown_digest == shown_digest:
        again = _prepared(stored.task, given, _shown(stored.task, shown_digest))
        names = ("verdict", "answer", "edits", "input", "comment", "reason_code")
        if all(getattr(again, name) == getattr(stored, name) for name in names):
            return stored
    problem = Problem("", _("This Idempotency-Key was used for another decision."))
    raise Invalid([problem], code="idempotency_mismatch")


def _one_answer_to_one_question(task: Task, answer: Answer) -> None:
    """Equal ids in one case get one answer; the second decision must agree with the first."""
    question = jsontext.loads(task.refs).get(SAME_QUESTION)
    if question is None:
        return
    others = Decision.objects.live().filter(task__case=task.case_id).exclude(task=task).select_related("task")
    for other in others:
        if jsontext.loads(other.task.refs).get(SAME_QUESTION) == question and not _equal(other.answer, answer.answer):
            text = _("%(code)s is the same question: one answer goes out for both, so they need the same one.")
            raise Invalid([Problem("/verdict", text % {"code": other.task.code})])


def _equal(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return one is other
    return jsontext.same(one, other)


def _settle(task: Task) -> None:
    told = {"state": State.SETTLED.value, "claimed_by": None, "claimed_at": None}
    Task.objects.filter(pk=task.pk, state=State.OPEN).update(**told)
    _now_has(task, told)


def _settle_if_complete(case: Case, now: datetime, *, undo: bool) -> bool:
    """True when this was the last open task: the case may leave after the undo window, but never too late."""
    if case.has_open_tasks():
        return False
    deliver_after = now + timedelta(seconds=settings.UNDO_SECONDS if undo else 0)
    if case.deadline:
        deliver_after = min(deliver_after, case.deadline - timedelta(seconds=2 * settings.EXPIRY_MARGIN_SECONDS))
    told = {"state": State.SETTLED.value, "settled_at": now, "deliver_after": max(now, deliver_after)}
    settled = bool(Case.objects.filter(pk=case.pk, state=State.OPEN).update(**told))
    if settled:
        _now_has(case, told)
    return settled


def _now_has(row: Task | Case, told: dict[str, Any]) -> None:
    """What an update wrote stands in the object too: whoever answers with it need not read it again."""
    for name, value in told.items():
        setattr(row, name, value)


def _recallable(case: Case, now: datetime) -> None:
    if case.state == State.WITHDRAWN:
        raise Withdrawn(_("Nobody asks this any more: %s.") % case.get_ended_because_display())
    if case.taken_at:
        raise Taken(_("Too late: the answer is on its way."))
    if case.is_expired(clock.at_least(now)):
        raise Expired(_("Time ran out: the decisions stay as they are."))


def _record_decided(decision: Decision, now: datetime, batch: str) -> AuditEntry:
    task = decision.task
    name = decision.by.display_name if decision.by else NAMELESS[decision.by_kind]
    changed = _changed(decision)
    with_edits = f" with changes at {', '.join(changed)}" if changed else ""
    return audit.record(
        "task.decided",
        f"{name} {decision.verdict} {task.code}{with_edits}.",
        actor=decision.by,
        task=task,
        data={**facts(decision), "changedPaths": changed, **({"batch": batch} if batch else {})},
        now=now,
    )


def facts(decision: Decision) -> dict[str, Any]:
    """What the trail keeps of a decision, and what `verification` compares with its row.

    A reason code is there only where one was given: entries from before there were any stay true.
    """
    code = {"reasonCode": decision.reason_code} if decision.reason_code else {}
    return {
        "decision": decision.pk,
        "verdict": decision.verdict,
        "byKind": decision.by_kind,
        "answer": decision.answer,
        "answerDigest": None if decision.answer is None else digest_of(decision.answer),
        "edits": decision.edits,
        "input": decision.input,
        "comment": decision.comment,
        **code,
        "shownDigest": decision.shown_digest,
    }


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _changed(decision: Decision) -> Sequence[str]:
    if decision.edits is None:
        return []
    shown = _shown(decision.task, decision.shown_digest)
    return jsontext.changed_paths(shown.proposal or "{}", decision.edits)


def _record_settled(case: Case, *, after: AuditEntry, now: datetime) -> None:
    audit.record(
        "case.settled",
        f"{case.code} has all its answers.",
        case=case,
        data={"deliverAfter": case.deliver_after and chain.moment(case.deliver_after)},
        after=after,
        now=now,
    )


def _record_recalled(decision: Decision, by: User, now: datetime) -> None:
    audit.record(
        "case.recalled",
        f"{by.display_name} took the decision on {decision.task.code} back.",
        actor=by,
        task=decision.task,
        data={"decision": decision.pk, "verdict": decision.verdict},
        now=now,
    )

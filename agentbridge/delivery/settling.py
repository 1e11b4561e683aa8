"""What an operator does when the way to the agent is not plain: rights under lock, one step, entries, a reason."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from agentbridge import trail
from agentbridge.delivery import ledger, resuming, sealing
from agentbridge.delivery.moves import move
from agentbridge.delivery.proof import moved_on as moved_on
from agentbridge.models import DeliveryState, Interrupt, Resume
from approvals import exhibits, intake, jsontext, locking, reviewing, sentences
from approvals.kit import VerdictKit
from approvals.models import Case, Task, User
from approvals.models.cases import EndedBecause, State, last_moment
from approvals.refusals import Expired, Invalid, Refused, WrongState
from approvals.schemas import Problem


class AgentChanged(Refused):
    """The agent's address is not the one that the answers were sealed for."""

    code = "agent_changed"


@transaction.atomic
def resolve_doubt(case: Case, *, action: str, reason: str, by: User, now: datetime, seen: str = "") -> bool:
    """`resend`, `mark_done`, `abandon` or `answer_again` for a delivery that waits for a person.

    `seen`: what stood before their eyes, as `ledger.seen_as` has it, where a page knows. False: it is only asked
    for, and another operator has to agree. Raises NotAllowed, Invalid, WrongState, Expired.
    """
    case, by = locking.locked_case(case), locking.locked_operator(by, reason)
    resume = waiting_delivery(case)
    if seen and seen != ledger.seen_as(resume):
        raise WrongState(_("Something happened to this delivery since you saw it: look at it as it is now."))
    if action == "resend":
        return _resend(resume, reason=reason, by=by, now=now)
    if action == "mark_done":
        _mark_done(resume, reason=reason, by=by, now=now)
    elif action == "answer_again":
        _answer_again(resume, reason=reason, by=by, now=now)
    elif action == "abandon":
        _abandon(case, resume, because=EndedBecause.ABANDONED, reason=reason, by=by, now=now)
    else:
        raise Invalid([Problem("/action", _("There is no such way out."))])
    return True


def current(case: Case) -> Resume | None:
    """The sealed set that counts, locked."""
    found = Resume.objects.filter(case=case, replaced_at=None).values_list("pk", flat=True).first()
    return resuming.locked(found) if found is not None else None


def waiting_delivery(case: Case) -> Resume:
    resume = current(case)
    if resume is None or resume.state not in ledger.WAITING:
        raise WrongState(_("No delivery of %(code)s waits for a person.") % {"code": case.code})
    return resume


def _resend(resume: Resume, *, reason: str, by: User, now: datetime) -> bool:
    """The same sealed bytes once more, as a new attempt; in a queue of high risk when a second person says so too."""
    if moved_on(resume):
        raise WrongState(_("The thread has moved on: these answers would meet another question."))
    edge = resuming.last_answer_at(resume)
    if edge is not None and now >= last_moment(edge):
        raise Expired(_("The deadline has passed: these answers can no longer be sent."))
    if resume.case.state != State.SETTLED:
        raise WrongState(_("%(code)s has ended.") % {"code": resume.case.code})
    if ledger.takes_two(resume.case, resume):
        if resume.resend_asked_by_id is None:
            _ask_to_resend(resume, reason=reason, by=by, now=now)
            return False
        if resume.resend_asked_by_id == by.pk:
            raise WrongState(_("Whoever asked to send it again does not allow it: another operator does."))
    asker = f" as {resume.resend_asked_by.display_name} asked" if resume.resend_asked_by else ""
    move(
        resume, DeliveryState.READY, sentence=f"{by.display_name} lets the same answers be sent again{asker}: {reason}",
        actor=by, now=now, fenced=False, next_try_at=now, attempts_made=0, lost_leases=0, answer_class="",
        data={"reason": reason, "action": "resend"},
    )  # fmt: skip
    return True


def _ask_to_resend(resume: Resume, *, reason: str, by: User, now: datetime) -> None:
    """C.7: it may run twice, where that is dangerous. Nothing is sent; what happens to the delivery first ends it."""
    sentence = f"{by.display_name} asks to send the same answers again: {reason}"
    asked = Resume.objects.filter(pk=resume.pk, state=resume.state, resend_asked_by=None)
    asked.update(resend_asked_by=by, note=sentence)
    data = {"reason": reason, "n": resume.n, "sha256": resume.sha256}
    trail.of_resume("delivery.resend_asked", sentence, resume=resume, actor=by, data=data, now=now)


def _mark_done(resume: Resume, *, reason: str, by: User, now: datetime) -> None:
    if ledger.did_not_run(resume):
        raise WrongState(_("The agent refused the answers: nothing was done."))
    move(
        resume, DeliveryState.MARKED_DONE, sentence=f"{by.display_name} found that it was done: {reason}", actor=by,
        now=now, fenced=False, data={"reason": reason, "action": "mark_done"},
    )  # fmt: skip
    resuming.close_unarmed(resume, now=now)
    if resume.case.state == State.SETTLED:
        reviewing.mark_delivered(resume.case, now=now)
    for task in resume.case.tasks.all():
        reviewing.conclude(task, sentence=f"Marked done by {by.display_name}: {reason}", now=now)


def _answer_again(resume: Resume, *, reason: str, by: User, now: datetime) -> Case:
    """The agent refused: the same questions again, in a new case with the old answers beside it."""
    if not ledger.did_not_run(resume):
        raise WrongState(_("The agent may have acted on the answers: they cannot be given again."))
    if moved_on(resume):
        raise WrongState(_("The thread has moved on: its questions are asked in a later case."))
    old = resume.case
    _abandon(old, resume, because=EndedBecause.ANSWERED_AGAIN, reason=reason, by=by, now=now)
    tasks = list(old.tasks.select_related("queue").order_by("position"))
    case = intake.open_case(
        intake.NewCase(
            agent=old.agent, thread_key=old.thread_key, refs=jsontext.loads(old.refs), previous=old, flags=old.flags,
            tasks=[_ask_again(task) for task in tasks],
        ),
        now=now,
    )  # fmt: skip
    for task in case.tasks.all():
        Interrupt.objects.filter(run=resume.interrupted_run, position=task.position).update(task=task)
    return case


def _ask_again(task: Task) -> intake.NewTask:
    shown = exhibits.load(task.exhibits.order_by("-version")[0].body)
    return intake.NewTask(
        refs=jsontext.loads(task.refs), queue=task.queue, exhibit=shown,
        kit=VerdictKit.from_json(task.kit), deadline=task.deadline, deadline_text=task.deadline_text, flags=task.flags,
        asked_before=task,
    )  # fmt: skip


def _abandon(case: Case, resume: Resume | None, *, because: str, reason: str, by: User, now: datetime) -> None:
    if resume is not None and resume.state not in ledger.FINAL:
        move(
            resume, DeliveryState.ABANDONED, sentence=f"{by.display_name} gave the delivery up: {reason}", actor=by,
            now=now, fenced=False, data={"reason": reason, "because": because},
        )  # fmt: skip
        resuming.close_unarmed(resume, now=now)
    reviewing.withdraw(case, because=because, by=by, reason=reason, now=now)


@transaction.atomic
def abandon(case: Case, *, reason: str, by: User, now: datetime) -> None:
    """Give a case up that is neither delivered nor withdrawn. Raises WrongState while a delivery is under way."""
    case, by = locking.locked_case(case), locking.locked_operator(by, reason)
    resume = current(case)
    if resume is not None and resume.state in (DeliveryState.ARMED, DeliveryState.ACCEPTED):
        raise WrongState(_("The answers are on their way: wait for the end."))
    _abandon(case, resume, because=EndedBecause.ABANDONED, reason=reason, by=by, now=now)


@transaction.atomic
def close_expired(case: Case, *, action: str, reason: str, by: User, now: datetime) -> None:
    """`send_cancelled` or `abandon` for a case whose time has run out. Raises NotAllowed, Invalid, WrongState."""
    case, by = locking.locked_case(case), locking.locked_operator(by, reason)
    if not case.is_expired(now):
        raise WrongState(_("%(code)s has not expired.") % {"code": case.code})
    resume = current(case)
    if action == "abandon":
        _abandon(case, resume, because=EndedBecause.ABANDONED, reason=reason, by=by, now=now)
    elif action == "send_cancelled":
        _send_cancelled(case, resume, reason=reason, by=by, now=now)
    else:
        raise Invalid([Problem("/action", _("There is no such way out."))])


def _send_cancelled(case: Case, resume: Resume | None, *, reason: str, by: User, now: datetime) -> None:
    """R-27, R-29: what was decided and is still in time goes out, every other entry is cancelled."""
    if any(VerdictKit.from_json(task.kit).cancel != "safe" for task in case.tasks.all()):
        raise WrongState(_("It is not certain that this agent takes a cancel as a no, so none is sent."))
    if case.blocked:
        raise WrongState(_("Nothing can be sent: %(why)s") % {"why": sentences.told(case.blocked)})
    run = sealing.interrupted_run(case)
    if run is None:
        raise WrongState(_("The run that asked is not on record."))
    if resume is not None:
        _replace(resume, by=by, now=now)
    reviewing.take_expired(case, by=by, reason=reason, now=now)
    case.refresh_from_db()
    sealing.write(case, run, n=2, now=now, by=by)


def _replace(resume: Resume, *, by: User, now: datetime) -> None:
    """Once, and only a set of which no byte can have left."""
    unsent = resume.state in (DeliveryState.READY, DeliveryState.EXPIRED_UNSENT) and not resume.armed_once
    if not unsent or resume.n > 1:
        raise WrongState(_("These answers may have left already, or were replaced before."))
    if resume.state == DeliveryState.READY:
        move(resume, DeliveryState.EXPIRED_UNSENT, sentence="The deadline passed before anything was sent.", now=now)
    resuming.close_unarmed(resume, now=now)
    Resume.objects.filter(pk=resume.pk, replaced_at=None).update(replaced_at=now)
    sentence = "The sealed answers were replaced by ones that cancel what is too late."
    trail.of_resume("resume.replaced", sentence, resume=resume, actor=by, data={"sha256": resume.sha256}, now=now)


@transaction.atomic
def unblock(case: Case, *, reason: str, by: User, now: datetime) -> None:
    """What kept the answers from being sealed or proven is mended, an operator says: the worker looks at them anew.

    The answers stay as they were decided, or sealed, and every check is made again: what still stands blocks again.
    Raises NotAllowed, Invalid, WrongState.
    """
    case, by = locking.locked_case(case), locking.locked_operator(by, reason)
    if not ledger.can_be_unblocked(case, current(case)):
        raise WrongState(_("Nothing is in the way of %(code)s that could be mended.") % {"code": case.code})
    reviewing.unblock(case, by=by, reason=reason, now=now)


@transaction.atomic
def rebind(case: Case, *, reason: str, by: User, now: datetime) -> None:
    """The agent's address changed after sealing, and an operator says that it is still the same agent."""
    case, by = locking.locked_case(case), locking.locked_operator(by, reason)
    resume = current(case)
    if resume is None or resume.url_version == resume.agent.url_version:
        raise WrongState(_("The agent's address is the one that the answers were sealed for."))
    if resume.state in (DeliveryState.ARMED, DeliveryState.ACCEPTED, *ledger.FINAL):
        raise WrongState(_("The answers are on their way or have arrived."))
    Resume.objects.filter(pk=resume.pk).update(url_version=resume.agent.url_version, changed_at=now)
    trail.of_resume(
        "delivery.rebound", f"{by.display_name} bound the delivery to the agent's new address: {reason}", resume=resume,
        actor=by, data={"reason": reason, "urlVersion": resume.agent.url_version}, now=now,
    )  # fmt: skip
    if case.blocked:
        reviewing.unblock(case, by=by, reason=reason, now=now)

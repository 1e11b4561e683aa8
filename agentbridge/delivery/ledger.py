"""Reading what is owed to agents: the state of a case's delivery, what waits for a person, and what may be done."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Length

from agentbridge.models import Agent, Resume, Run
from agentbridge.models.delivery import FINAL as FINAL
from agentbridge.models.delivery import WAITING as WAITING
from agentbridge.models.delivery import DeliveryState
from approvals import jsontext
from approvals.models import Case, Queue, State

HELD = "held"  # computed: settled, and its authors may still recall
NOT_RUN = ("A", "B", "C")  # classes after which the agent did nothing with the answers
UNDER_WAY = (DeliveryState.READY, DeliveryState.LEASED, DeliveryState.ARMED, DeliveryState.ACCEPTED)
DONE = (DeliveryState.FINISHED, DeliveryState.INTERRUPTED_AGAIN, DeliveryState.MARKED_DONE)
OTHERWISE = tuple(state for state in FINAL if state not in DONE)
# Nobody can give up what is leaving, running or over; only a set that expired unsent may still be replaced.
SETTLED = (DeliveryState.ARMED, DeliveryState.ACCEPTED, *DONE, DeliveryState.ABANDONED)


def current(case: Case) -> Resume | None:
    """The sealed set that counts: the one that was not replaced."""
    return case.resumes.filter(replaced_at__isnull=True).select_related("agent", "thread").first()


def state_of(case: Case, now: datetime, resume: Resume | None = None) -> str | None:
    """The word for where the answers are; None while there are none. Before sealing it follows from the case."""
    resume = resume or current(case)
    if resume is not None:
        return resume.state
    if case.state != State.SETTLED or case.deliver_after is None:
        return None
    if case.is_expired(now):
        return DeliveryState.EXPIRED_UNSENT
    return HELD if now < case.deliver_after else DeliveryState.READY


def stuck(cases: QuerySet[Case], now: datetime) -> QuerySet[Case]:
    """Cases that go nowhere without an operator, though no delivery of theirs waits: expired, blocked, quarantined."""
    return cases.filter(pk__in=_stuck(now))


def waiting(cases: QuerySet[Case], now: datetime) -> QuerySet[Case]:
    """All that goes nowhere without an operator: what is stuck, and deliveries that wait for a person."""
    doubts = Resume.objects.filter(state__in=WAITING, replaced_at=None)
    return cases.filter(pk__in=_stuck(now).union(doubts.values("case")))


def _stuck(now: datetime) -> QuerySet[Case, Any]:
    """One look into an index for each reason: this is counted on every page."""
    blocked = Case.objects.annotate(said=Length("blocked")).filter(state__in=[State.OPEN, State.SETTLED], said__gt=0)
    quarantined = Case.objects.filter(state=State.QUARANTINED)
    return Case.objects.expired(now).values("pk").union(blocked.values("pk"), quarantined.values("pk"))


def bound_elsewhere(agent: Agent) -> QuerySet[Resume]:
    """Sealed for an earlier address of the agent and not under way: an operator sends them to the new one, or not."""
    open_ones = Resume.objects.filter(agent=agent, replaced_at=None).exclude(state__in=SETTLED)
    return open_ones.exclude(state=DeliveryState.EXPIRED_UNSENT).exclude(url_version=agent.url_version)


def takes_two(case: Case, resume: Resume) -> bool:
    """Two operators send again what may have left before, where a queue is of high risk (`delivery.md` C.7)."""
    return resume.armed_once and any(task.queue.risk == Queue.Risk.HIGH for task in case.tasks.all())


def actions(case: Case, resume: Resume | None, now: datetime, *, moved_on: bool = False) -> tuple[str, ...]:
    """What an operator may do here, the plainest first (`design.md` 7). The verbs check again."""
    if resume is not None and resume.state in WAITING:
        not_run = did_not_run(resume)
        offered = {"mark_done": not not_run, "resend": not moved_on, "answer_again": not_run, "abandon": True}
    elif case.state in (State.DELIVERED, State.WITHDRAWN) or (resume is not None and resume.state in SETTLED):
        offered = {}
    else:
        rebind = resume is not None and resume.url_version != resume.agent.url_version
        expired = case.is_expired(now)
        offered = {
            "accept": case.state == State.QUARANTINED, "rebind": rebind and not expired,
            "unblock": can_be_unblocked(case, resume) and (expired or not rebind),
            "send_cancelled": expired and not case.blocked and cancel_is_safe(case), "abandon": True,
        }  # fmt: skip
    return tuple(action for action, holds in offered.items() if holds)


def can_be_unblocked(case: Case, resume: Resume | None) -> bool:
    """Its answers could not be sealed, or not be proven: none is on its way, and each check can be made again.

    What made a case unanswerable from the start (no usable id) is no such thing: nobody could decide it.
    """
    unsent = resume is None or resume.state in (DeliveryState.READY, DeliveryState.EXPIRED_UNSENT)
    return bool(case.blocked) and case.state == State.SETTLED and unsent


def did_not_run(resume: Resume) -> bool:
    """Did the agent do nothing with the answers? A refusal says so for its own attempt only."""
    return resume.answer_class in NOT_RUN and not may_have_run(resume)


def sent(resume: Resume) -> QuerySet[Run]:
    """The attempts whose bytes may have left."""
    return resume.attempts.filter(armed_at__isnull=False).exclude(status=Run.Status.UNSENT)


def may_have_run(resume: Resume) -> bool:
    """Is there such an attempt of which no refusal says that it did nothing?"""
    return sent(resume).exclude(answer_class__in=NOT_RUN).exists()


def seen_as(resume: Resume) -> str:
    """What somebody judges by who settles a delivery: its state, its latest attempt, and who asked to send it again."""
    return f"{resume.state}-{resume.fence}-{resume.resend_asked_by_id or 0}"


def was_doubt(seen: str) -> bool:
    """Did it wait for a person when they saw it?"""
    return seen.partition("-")[0] in WAITING


def cancel_is_safe(case: Case) -> bool:
    """Does the agent take a cancel as a plain no, for every task?"""
    kits = case.tasks.values_list("kit", flat=True)
    return all(jsontext.loads(kit).get("cancel") == "safe" for kit in kits)

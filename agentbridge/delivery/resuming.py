"""A delivery's steps before and around its first byte: claim, arm, put back. All in the database.

What is committed before what is the design (`delivery.md` C.5): lease and fence before connecting, armed before the
first byte. Every write of a worker carries the fence it claimed with; a worker that lost its lease changes nothing.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from agentbridge import trail, translation
from agentbridge.delivery import backoff, crash, outgoing, proof, turns
from agentbridge.delivery.moves import IN_FLIGHT, Lost, move
from agentbridge.delivery.tickets import Ticket, headers_of
from agentbridge.models import Agent, DeliveryState, Resume, Run
from agentbridge.models.agents import key_of
from agentbridge.wire import protocol
from approvals import clock, jsontext, reviewing
from approvals.models import Case, Task
from approvals.models.cases import State, Verdict, last_moment

ARMED = (DeliveryState.ARMED, DeliveryState.IN_DOUBT)  # in doubt: its worker was thought lost after arming
POISON = 3  # leases lost by a crash on one delivery before it is put aside


class NotArmed(Exception):
    """Nothing was sent and nothing may be: the sentence says why. Raised into the client before the first byte."""


class Stale(NotArmed):
    """Armed on record, but so long ago that others may have drawn conclusions: nothing was sent and nothing will be."""


def claimable(
    now: datetime, *, closed: set[int], limit: int, memory: turns.Memory | None = None
) -> list[tuple[int, int]]:
    """(delivery, agent) that may be tried now, as their turns come; `closed` are agents that must not be asked."""
    busy = turns.under_way()
    found = ready(now).exclude(agent__in=closed | turns.full(busy))
    waiting = found.exclude(interrupted_run__way=Run.Way.PUSH)  # those are fetched
    oldest = [F("next_try_at").asc(nulls_first=True), F("pk").asc()]
    # Not by sealing: what was left lying is sealed after the answer of this moment, and would go before it.
    decided_at = Coalesce("case__settled_at", "sealed_at")
    return turns.in_turn(
        waiting, agent="agent", asked_at=decided_at, oldest=oldest, most=settings.AGENT_PARALLEL, busy=busy,
        memory=memory,
    )[:limit]  # fmt: skip


def ready(now: datetime) -> QuerySet[Resume]:
    """Deliveries whose time it is, on threads where no other one is under way."""
    due = Resume.objects.filter(
        Q(next_try_at__isnull=True) | Q(next_try_at__lte=now),
        state=DeliveryState.READY, replaced_at=None, case__blocked="", case__state=State.SETTLED, agent__enabled=True,
    )  # fmt: skip
    return due.exclude(thread__in=Resume.objects.filter(state__in=["leased", "armed", "accepted"]).values("thread"))


def claim(pk: int, *, owner: str, now: datetime) -> Ticket | None:
    """Lease one delivery, with its next attempt proven and on record, in one transaction.

    None: somebody else has it, its agent has enough to do, its time is over, or the case says what blocks it.
    """
    try:
        with transaction.atomic():
            # The case first, as everywhere: two deeds on one case never wait for each other in a circle.
            cases = Case.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
            if cases.filter(resumes=pk).first() is None:
                return None
            resume = (
                Resume.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
                .select_related("case", "agent", "thread", "interrupted_run__thread__agent")
                .filter(pk=pk, state=DeliveryState.READY, replaced_at=None, case__state=State.SETTLED, case__blocked="")
                .first()
            )
            if resume is None or ended_early(resume, now=now) or agent_is_busy(resume.agent):
                return None
            ticket = _leased(resume, owner=owner, now=now)
    except (Lost, IntegrityError):  # the unique index on threads in flight is the last word
        return None
    crash.point("claimed")
    return ticket


def _leased(resume: Resume, *, owner: str, now: datetime) -> Ticket | None:
    """Build the input, prove it, put it on record as the next attempt; then the lease, whose entry comes last."""
    run_id = resume.next_run_id or str(uuid.uuid4())
    decided = translation.Decided.on(resume.case)
    try:
        draft = outgoing.build(resume, run_id=run_id)
        reason = proof.problem(resume, draft, decided)
    except (protocol.ProtocolError, jsontext.JSONTextError) as unreadable:
        reason = f"The input cannot be built from the record: {unreadable}"
    if reason:
        reviewing.block(resume.case, sentence=reason, now=now)
        return None
    lease: dict[str, Any] = {"lease_owner": owner, "lease_until": now + timedelta(seconds=settings.LEASE_SECONDS)}
    fence = resume.fence + 1
    told = proof.warnings(draft, decided)
    run_pk = _attempt(resume, run_id, draft.body, warnings=told, now=now, fence=fence, **lease)
    move(
        resume, DeliveryState.LEASED, sentence="A worker took the delivery.", now=now, fence=fence,
        next_run_id=run_id, **lease,
    )  # fmt: skip
    return Ticket(
        run_pk=run_pk, resume_pk=resume.pk, agent_pk=resume.agent.pk, thread_pk=resume.thread.pk, fence=fence,
        url=resume.agent.url, headers=headers_of(resume.agent), body=draft.body,
    )  # fmt: skip


def _attempt(resume: Resume, run_id: str, body: bytes, *, warnings: list[str], now: datetime, **lease: Any) -> int:
    """The run of this attempt: the unarmed one there is, or a new one. Returns its key."""
    told = [{"rule": "R-18", "severity": "warning", "where": "messages", "text": text} for text in warnings]
    written = {"input": body, "input_digest": trail.sha256(body), "warnings": jsontext.dumps(told), **lease}
    unarmed = Run.objects.filter(resume=resume, key=key_of(run_id), armed_at=None, status=Run.Status.QUEUED)
    pk = unarmed.values_list("pk", flat=True).first()
    if pk is not None:
        Run.objects.filter(pk=pk).update(**written)
        return int(pk)
    return Run.objects.create(
        thread=resume.thread, key=key_of(run_id), run_id=run_id, kind=Run.Kind.RESUMED, resume=resume,
        attempt=resume.attempts.count() + 1, created_at=now, **written,
    ).pk  # fmt: skip


def agent_is_busy(agent: Agent) -> bool:
    """At most so many requests between connect and RUN_STARTED; the agent's row is the lock on the count."""
    Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    resumes, first = turns.requests()
    asked = resumes.filter(agent=agent).count() + first.filter(thread__agent=agent).count()
    return asked >= settings.AGENT_PARALLEL


def ended_early(resume: Resume, *, now: datetime) -> bool:
    """Too late, tried too often, or lost by too many workers: put aside by name, never silently."""
    edge = last_answer_at(resume)
    if edge is not None and now >= last_moment(edge):
        expire(resume, now=now)
    elif resume.lost_leases >= POISON:
        give_up(resume, sentence="Three workers were lost on this delivery; it needs a person.", now=now)
    elif backoff.used_up(misses=resume.attempts_made, sealed_at=resume.sealed_at, now=now):
        give_up(resume, sentence="Tried too often or for too long; it needs a person.", now=now)
    else:
        return False
    return True


def last_answer_at(resume: Resume) -> datetime | None:
    """The deadline that this set of answers has to keep; cancelled entries have none (R-27)."""
    if resume.n == 1:
        return resume.case.deadline
    answers = translation.answered(resume.case, closing_at=resume.closing_at)
    kept = {answer.interrupt_id for answer in answers if answer.verdict != Verdict.CANCELLED}
    tasks = Task.objects.filter(case=resume.case)
    own = [task.deadline for task in tasks if translation.refs_of(task).get("interruptId") in kept]
    return min((deadline for deadline in own if deadline is not None), default=None)


def expire(resume: Resume, *, now: datetime) -> None:
    if resume.armed_once:
        give_up(resume, sentence="The deadline passed while the delivery waited to be tried again.", now=now)
        return
    move(resume, DeliveryState.EXPIRED_UNSENT, sentence="The deadline passed before anything was sent.", now=now)
    close_unarmed(resume, now=now)


def set_aside(pk: int, *, now: datetime) -> None:
    """A fault of ours keeps a delivery from being prepared; when that is mended, a person lets it be sent."""
    with transaction.atomic():
        resume = locked(pk)
        if resume.state == DeliveryState.READY and resume.replaced_at is None:
            give_up(resume, sentence="It cannot be prepared: a fault of this desk, told in its log.", now=now)


def give_up(resume: Resume, *, sentence: str, now: datetime) -> None:
    move(resume, DeliveryState.DEAD, sentence=sentence, now=now)
    close_unarmed(resume, now=now)


def close_unarmed(resume: Resume, *, now: datetime) -> None:
    """A prepared attempt that will never be armed ends as unsent, and frees its thread."""
    Run.objects.filter(resume=resume, status=Run.Status.QUEUED, armed_at=None).update(
        status=Run.Status.UNSENT, ended_at=now, lease_owner="", lease_until=None
    )


def locked(pk: Any) -> Resume:
    """The delivery with all that a step looks at, held to the end of the transaction. The case is locked first."""
    Case.objects.select_for_update(of=("self",), no_key=True).get(resumes=pk)
    rows = Resume.objects.select_for_update(of=("self",), no_key=True)
    return rows.select_related("case", "agent", "thread__agent", "interrupted_run").get(pk=pk)


def arm(ticket: Ticket, *, now: datetime) -> float:
    """From here on bytes may have left us: since when, on this process's steady clock.

    Raises `NotArmed`: then nothing was sent and nothing will be.
    """
    with transaction.atomic():
        resume = locked(ticket.resume_pk)
        since, now = monotonic(), clock.at_least(now)  # whoever held the row may have held it for long
        case = resume.case
        mine = resume.state == DeliveryState.LEASED and resume.fence == ticket.fence
        if not mine or resume.lease_until is None or resume.lease_until <= now:
            raise NotArmed("The lease on this delivery was over.")
        edge = last_answer_at(resume)
        if edge is not None and now >= last_moment(edge):
            raise NotArmed("The deadline passed before anything was sent.")
        if case.blocked or case.state != State.SETTLED or resume.url_version != resume.agent.url_version:
            raise NotArmed("The case was stopped before anything was sent.")
        check_agent(resume.agent, ticket)
        run = Run.objects.select_related("thread__agent").get(pk=ticket.run_pk)
        Run.objects.filter(pk=run.pk).update(
            status=Run.Status.RUNNING, armed_at=now, bytes_sent=len(ticket.body)  # nobody may be left to count them
        )
        if case.sent_at is None:
            reviewing.mark_sent(case, now=now, late=resume.n > 1)
        move(
            resume, DeliveryState.ARMED, sentence=f"Attempt {run.attempt}: from here on bytes may have left us.",
            run=run, now=now, armed_once=True, attempts_made=resume.attempts_made + 1, next_run_id="",
            data={"inputSha256": run.input_digest, "attempt": run.attempt},
        )  # fmt: skip
    crash.point("armed")
    return since


def check_agent(agent: Agent, ticket: Ticket) -> None:
    """Raises `NotArmed` when the request was prepared for an agent that is off since, or reached in another way."""
    if not agent.enabled or (ticket.url, ticket.headers) != (agent.url, headers_of(agent)):
        raise NotArmed("The agent was switched off or changed before anything was sent.")


def put_back(ticket: Ticket, *, sentence: str, missed: bool = False, now: datetime) -> None:
    """Provably nothing was sent: ready again, later; or expired meanwhile.

    Also after arming, and where others thought it in doubt since: the attempt ends as unsent. `missed`: the agent could
    not be reached. Only what reached or tried the agent uses up one of its attempts; our own standing still does not.
    """
    with transaction.atomic():
        resume = locked(ticket.resume_pk)
        if resume.state not in (DeliveryState.LEASED, *ARMED) or resume.fence != ticket.fence:
            forgive(resume)
            return
        armed = resume.state in ARMED
        tried: dict[str, Any] = {"error": sentence, "lease_owner": "", "lease_until": None}
        if armed:
            tried |= {"status": Run.Status.UNSENT, "ended_at": now, "answer_class": "", "bytes_sent": 0}
        Run.objects.filter(pk=ticket.run_pk).update(**tried)
        misses = resume.attempts_made - 1 if armed else resume.attempts_made + missed
        lost = max(0, resume.lost_leases - (resume.state == DeliveryState.IN_DOUBT))
        move(
            resume, DeliveryState.READY, sentence=sentence, now=now, attempts_made=misses, lost_leases=lost,
            answer_class="", next_try_at=now + backoff.delay(misses),
        )  # fmt: skip
        ended_early(resume, now=now)


def forgive(resume: Resume) -> None:
    """The lease passed to others while its worker stood still; that worker lives, so this delivery killed nobody."""
    moving = Resume.objects.filter(pk=resume.pk, state__in=[DeliveryState.READY, *IN_FLIGHT], lost_leases__gt=0)
    moving.update(lost_leases=F("lost_leases") - 1)

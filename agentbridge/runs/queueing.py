"""The way of a first run up to its first byte: queued, leased, armed. Never retried by itself after that."""

from __future__ import annotations

from datetime import datetime, timedelta
from time import monotonic

from django.conf import settings
from django.db import transaction
from django.db.models import F

from agentbridge import trail
from agentbridge.delivery import crash, turns
from agentbridge.delivery.resuming import NotArmed, agent_is_busy, check_agent
from agentbridge.delivery.tickets import Ticket, headers_of
from agentbridge.models import Run
from approvals import clock


def claimable(
    now: datetime, *, closed: set[int], limit: int, memory: turns.Memory | None = None
) -> list[tuple[int, int]]:
    """(run, agent) of queued first runs, as their turns come; `closed`: agents that must not be asked."""
    busy = turns.under_way()
    ours = Run.objects.filter(kind=Run.Kind.FIRST, way=Run.Way.BRIDGE, thread__agent__enabled=True)
    queued = ours.filter(status=Run.Status.QUEUED, lease_owner="")
    waiting, oldest = queued.exclude(thread__agent__in=closed | turns.full(busy)), [F("pk").asc()]
    return turns.in_turn(
        waiting, agent="thread__agent", asked_at="created_at", oldest=oldest, most=settings.AGENT_PARALLEL, busy=busy,
        memory=memory,
    )[:limit]  # fmt: skip


@transaction.atomic
def claim(pk: int, *, owner: str, now: datetime) -> Ticket | None:
    """Lease one queued run. None: another worker has it, or its agent has enough to do."""
    rows = Run.objects.select_for_update(skip_locked=True, of=("self",), no_key=True).select_related("thread__agent")
    run = rows.filter(pk=pk, status=Run.Status.QUEUED, lease_owner="").first()
    if run is None or agent_is_busy(run.thread.agent):
        return None
    fence, until = run.fence + 1, now + timedelta(seconds=settings.LEASE_SECONDS)
    Run.objects.filter(pk=pk).update(lease_owner=owner, lease_until=until, fence=fence)
    trail.of_run("run.leased", "A worker took the run.", run=run, now=now)
    agent = run.thread.agent
    return Ticket(
        run_pk=run.pk, resume_pk=None, agent_pk=agent.pk, thread_pk=run.thread_id, fence=fence, url=agent.url,
        headers=headers_of(agent), body=bytes(run.input),
    )  # fmt: skip


def _locked(ticket: Ticket) -> Run:
    rows = Run.objects.select_for_update(of=("self",), no_key=True)
    return rows.select_related("thread__agent").get(pk=ticket.run_pk)


def arm(ticket: Ticket, *, now: datetime) -> float:
    """From here on bytes may have left us: since when, on this process's steady clock.

    Raises `NotArmed`: then nothing was sent and nothing will be.
    """
    with transaction.atomic():
        run = _locked(ticket)
        since, now = monotonic(), clock.at_least(now)
        mine = run.status == Run.Status.QUEUED and run.fence == ticket.fence
        if not mine or run.lease_until is None or run.lease_until <= now:
            raise NotArmed("The lease on this run was over.")
        check_agent(run.thread.agent, ticket)
        until = now + timedelta(seconds=settings.LEASE_SECONDS)  # a slow commit must not use it up
        Run.objects.filter(pk=run.pk).update(
            status=Run.Status.RUNNING, armed_at=now, lease_until=until, bytes_sent=len(ticket.body)
        )
        data = {"inputSha256": run.input_digest}
        trail.of_run("run.armed", "From here on bytes may have left us.", run=run, data=data, now=now)
    crash.point("run_armed")
    return since


@transaction.atomic
def put_back(ticket: Ticket, *, sentence: str, missed: bool = False, now: datetime) -> None:
    """Provably nothing was sent. A lease that ran out before arming puts the run back into the queue.

    An agent that could not be reached (`missed`), or arming, ends it unsent, and a person may start another.
    """
    run = _locked(ticket)
    if run.fence != ticket.fence or run.status not in (Run.Status.QUEUED, Run.Status.RUNNING, Run.Status.UNKNOWN):
        return
    if missed or run.status != Run.Status.QUEUED:
        _end_unsent(run, sentence, now=now)
    elif run.lease_owner:
        Run.objects.filter(pk=run.pk).update(lease_owner="", lease_until=None)
        trail.of_run("run.requeued", f"Nothing was sent: {sentence}", run=run, now=now)


def set_aside(pk: int, *, now: datetime) -> None:
    """A fault of ours keeps a run from being asked for; when that is mended, a person starts another."""
    with transaction.atomic():
        run = Run.objects.select_for_update(of=("self",), no_key=True).select_related("thread__agent").get(pk=pk)
        if run.status == Run.Status.QUEUED and not run.lease_owner:
            _end_unsent(run, "A fault of this desk, told in its log.", now=now)


def _end_unsent(run: Run, sentence: str, *, now: datetime) -> None:
    ended = {"status": Run.Status.UNSENT, "ended_at": now, "error": sentence, "lease_owner": "", "lease_until": None}
    Run.objects.filter(pk=run.pk).update(**ended, answer_class="", bytes_sent=0)
    trail.of_run("run.unsent", f"Nothing was sent: {sentence}", run=run, now=now)


@transaction.atomic
def requeue(run: Run, *, now: datetime) -> None:
    """Its worker was lost before anything was sent. A relayed run is not asked for again: its caller is gone."""
    lost = Run.objects.filter(pk=run.pk, status=Run.Status.QUEUED, fence=run.fence, lease_until__lte=now)
    if run.way != Run.Way.BRIDGE:
        sentence = "The connection to the caller was lost before anything was sent."
        ended = {"status": Run.Status.UNSENT, "ended_at": now, "error": sentence}
        if lost.update(**ended, lease_owner="", lease_until=None):
            trail.of_run("run.unsent", f"Nothing was sent: {sentence}", run=run, now=now)
    elif lost.update(lease_owner="", lease_until=None):
        trail.of_run("run.requeued", "The worker was lost before anything was sent.", run=run, now=now)

"""What was left behind: leases that ran out, deliveries whose time is over. Any worker does it, each row once.

The table of `delivery.md` C.6: lost before arming means nothing was sent; lost after it, the stored bytes are read
first, and what they do not say stays unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from agentbridge import trail
from agentbridge.delivery import ledger, resuming, standing
from agentbridge.delivery.moves import Lost, move
from agentbridge.models import DeliveryState, Resume, Run
from agentbridge.runs import concluding, queueing, recorder
from agentbridge.wire.classify import REPLAYABLE
from agentbridge.work import leases
from agentbridge.work.database import SHUT
from approvals.models.cases import State
from approvals.trail import anchors

log = structlog.get_logger(__name__)

LIMIT = 100


def sweep(now: datetime) -> None:
    """One round; a row that another worker moves meanwhile is left to it. And the trail is signed when it is time."""
    _sign(now)
    for resume in Resume.objects.filter(state__in=["leased", "armed", "accepted"], lease_until__lte=now)[:LIMIT]:
        _tolerant(_lost_delivery, resume.pk, now)
    for run in lost_first_runs(now):
        _tolerant(_lost_first_run, run.pk, now)
    for run in half_read(now):
        _tolerant(_lost_reading, run.pk, now)
    for resume in too_late(now):
        _tolerant(_put_aside, resume.pk, now)


def _sign(now: datetime) -> None:
    """Neither does the trail's signature keep them waiting."""
    try:
        anchors.tend(now=now)
    except Exception:
        log.exception("sweep.not_signed")


def too_late(now: datetime) -> list[Resume]:
    """Ready ones that need not be sent any more, however many others wait for an agent that is down."""
    edge = now + timedelta(seconds=settings.EXPIRY_MARGIN_SECONDS)
    over = Q(case__state=State.WITHDRAWN) | Q(n=1, case__deadline__lte=edge)
    ready = Resume.objects.filter(over, state=DeliveryState.READY, replaced_at=None)
    return list(ready.order_by("pk")[:LIMIT])


def _tolerant(deed: Callable[[int, datetime], None], pk: int, now: datetime) -> None:
    """One row's trouble must not keep the others waiting; losing a race is no trouble."""
    try:
        deed(pk, now)
    except (Lost, IntegrityError):
        log.info("sweep.lost_a_race", deed=deed.__name__, pk=pk)
    except Exception:
        log.exception("sweep.failed", deed=deed.__name__, pk=pk)


def _read_again(run: Run, now: datetime) -> bool:
    """The end may be on record already. Where reading fails, what became of the run stays unknown, and is said so.

    A database in trouble is no such failure: the next round reads it again. False: too many were lost on it.
    """
    if not leases.begin_reading(run, now=now):
        log.error("sweep.left_unread", run=run.pk)
        return False
    try:
        recorder.replay(run, now=now)
    except SHUT:
        raise
    except Exception:
        log.exception("sweep.replay_failed", run=run.pk)
    finally:
        leases.end_reading(run, now=now)
    return True


def lost_first_runs(now: datetime) -> list[Run]:
    waiting = Run.objects.in_flight().filter(kind=Run.Kind.FIRST, lease_until__lte=now)
    return list(waiting.order_by("lease_until", "pk")[:LIMIT])  # in the order of the index


def half_read(now: datetime) -> list[Run]:
    """Ended, and their workers were lost before they had read and done all that was said."""
    ended = Run.objects.filter(lease_until__lte=now).exclude(status__in=[Run.Status.QUEUED, Run.Status.RUNNING])
    return list(ended.order_by("lease_until", "pk")[:LIMIT])


@transaction.atomic
def _put_aside(pk: int, now: datetime) -> None:
    resume = resuming.locked(pk)
    if resume.state != DeliveryState.READY:
        return
    if resume.case.state == State.WITHDRAWN:
        sentence = "The case was withdrawn before anything was sent."
        if ledger.sent(resume).exists():
            sentence = "The thread has moved on since these answers were first sent: they would meet another question."
        move(resume, DeliveryState.ABANDONED, sentence=sentence, now=now)
        resuming.close_unarmed(resume, now=now)
    else:
        resuming.ended_early(resume, now=now)


def _lost_delivery(pk: int, now: datetime) -> None:
    run = Run.objects.filter(resume=pk).select_related("thread__agent").order_by("-attempt").first()
    is_readable = True
    if run is not None and run.armed_at is not None and run.chunks.exists():
        is_readable = _read_again(run, now)
    with transaction.atomic():
        resume = resuming.locked(pk)
        if resume.lease_until is None or resume.lease_until > now:
            return
        if resume.state == DeliveryState.LEASED:
            _lost_before_arming(resume, now)
        elif resume.state in (DeliveryState.ARMED, DeliveryState.ACCEPTED) and run is not None:
            _lost_after_arming(resume, run, now, is_readable=is_readable)


def _lost_before_arming(resume: Resume, now: datetime) -> None:
    sentence = "The worker was lost before anything was sent."
    move(resume, DeliveryState.READY, sentence=sentence, now=now, lost_leases=resume.lost_leases + 1, next_try_at=now)
    Run.objects.filter(resume=resume, status=Run.Status.QUEUED).update(lease_owner="", lease_until=None)
    resuming.ended_early(resume, now=now)


def _lost_after_arming(resume: Resume, run: Run, now: datetime, *, is_readable: bool) -> None:
    """Bytes may have left. Only an agent proven replay-safe is asked again, when no run can still be at work; and none
    whose answer cannot be read: it would say the same."""
    lose(run, now=now, is_readable=is_readable)
    lost = resume.lost_leases + 1
    if is_readable and run.way != Run.Way.PUSH and standing.replay_class(resume.agent, now=now) in REPLAYABLE:
        again = (run.armed_at or now) + timedelta(seconds=settings.RUN_SECONDS)
        sentence = "The worker was lost after bytes may have left; this agent may be asked again."
        move(
            resume, DeliveryState.READY, sentence=sentence, run=run, now=now, lost_leases=lost, next_try_at=again
        )
        resuming.ended_early(resume, now=now)
        return
    to = DeliveryState.IN_DOUBT if resume.state == DeliveryState.ARMED else DeliveryState.OUTCOME_UNKNOWN
    sentence = "The worker was lost after bytes may have left: whether the agent acted is unknown."
    if not is_readable:
        sentence = "Three workers were lost on this delivery; it needs a person."
    move(resume, to, sentence=sentence, run=run, now=now, lost_leases=lost, answer_class="H")


def lose(run: Run, *, now: datetime, is_readable: bool) -> None:
    """What became of the run is not known. Its worker's name stays: late news of it are still news."""
    sentence = "The worker was lost: what became of the run is not known."
    if not is_readable:
        sentence = "Three workers were lost on this run: what became of it is not known."
    known = Run.objects.filter(pk=run.pk, status=Run.Status.RUNNING)
    if known.update(status=Run.Status.UNKNOWN, ended_at=now, lease_until=None, answer_class="H"):
        trail.of_run("run.unknown", sentence, run=run, now=now)


def _lost_first_run(pk: int, now: datetime) -> None:
    run = Run.objects.select_related("thread__agent").get(pk=pk)
    if run.status == Run.Status.QUEUED:
        queueing.requeue(run, now=now)
        return
    is_readable = _read_again(run, now)
    with transaction.atomic():
        lose(run, now=now, is_readable=is_readable)


def _lost_reading(pk: int, now: datetime) -> None:
    run = Run.objects.select_related("thread__agent").get(pk=pk)
    _read_again(run, now)
    concluding.close(run)

"""The worker: seals what is due, claims what can be sent, reads every answer to its end, and keeps its leases alive.

Any number of workers may run: every claim is a conditional update. The poll is the truth; the head of the trail, which
every deed moves, is the hint that makes it quick, and the bell says when to look at it.
"""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from time import monotonic
from types import ModuleType
from typing import Any, TypeAlias

import structlog
from django.conf import settings
from django.db.models import Max

from agentbridge.delivery import resuming, sealing
from agentbridge.delivery.backoff import Breakers
from agentbridge.delivery.tickets import Ticket
from agentbridge.delivery.turns import Memory
from agentbridge.runs import queueing
from agentbridge.work import leases, sweeping
from agentbridge.work.database import EVERYBODYS, DatabaseThreads
from agentbridge.work.delivering import Delivery
from agentbridge.work.room import Room
from agentbridge.work.statistics import Statistics
from approvals import clock
from approvals.bell import Bell
from approvals.models import AuditEntry, Case
from approvals.refusals import Refused
from approvals.trail import anchors, lifecycle

log = structlog.get_logger(__name__)

POLL_SECONDS = 0.5  # between two looks at everything
SWEEP_SECONDS = 1.0
BREATH_SECONDS = 0.05  # after a look that found work: what it started goes first, and its own entries ring the bell
SEAL_SECONDS = 0.1  # in one look: somebody who decides now waits for the next one
CLAIM_SECONDS = 0.1  # in one look: what is claimed waits for its request until the look is over, and its lease runs
EACH_LOOK = 2  # so many, however long they take: one of each half of the turns
Memories: TypeAlias = defaultdict[ModuleType, Memory]  # of each queue: whose turn it is
DRAIN_SECONDS = 20.0  # for open streams after a stop was asked for; the rest is left to its leases


class Worker:
    def __init__(self, *, owner: str = "") -> None:
        self.owner = owner or f"{platform.node()[:30]}-{os.getpid()}-{secrets.token_hex(4)}"
        self.db = DatabaseThreads()
        # What is due, and the last step before a first byte, must not wait behind what two hundred others have to say.
        self.looking, self.arming = DatabaseThreads(1), DatabaseThreads(2)
        self.pulse = DatabaseThreads(1)  # a lease must not wait behind the work that it covers
        self.breakers = Breakers()
        self.deliveries: dict[asyncio.Task[None], Delivery] = {}
        self.stopping = asyncio.Event()
        self.bell = Bell()
        self.statistics = Statistics()
        self._swept = 0.0
        self._memories: Memories = defaultdict(Memory)
        self._ended_one = False  # since the last look
        self._head = -1
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, *, once: bool = False) -> None:
        """Until `stop()`; with `once` until nothing is due and nothing that was started is still open."""
        self._loop = asyncio.get_running_loop()
        heart = asyncio.create_task(self._keep_leases())
        log.info("bridge.started", worker=self.owner)
        try:
            async with self.bell:
                await self._work(once=once)
            await self._drain()
            await self.db(sign_off)
        finally:
            heart.cancel()
            await asyncio.gather(heart, return_exceptions=True)
            for threads in (self.db, self.looking, self.arming, self.pulse):
                await threads.close()
            log.info("bridge.stopped", worker=self.owner)

    async def _work(self, *, once: bool) -> None:
        while not self.stopping.is_set():
            busy = await self._look()
            if once and not busy and not self.deliveries:
                return
            if busy:
                await asyncio.sleep(BREATH_SECONDS)
            else:
                await self._nap()

    def stop(self) -> None:
        """Claim nothing more; open streams are read on for a while."""
        self.stopping.set()
        self.bell.ring()

    def stop_soon(self) -> None:
        """The same, from another thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.stop)

    async def _look(self) -> bool:
        """Start whatever can be started now. Database trouble is waited out, never the end of the worker."""
        sweeping_now = monotonic() - self._swept >= SWEEP_SECONDS
        try:
            await self.looking(self.statistics.tend)
            tickets, sealed = await self.looking(
                find_work, self.owner, self.breakers, self._room(), sweep=sweeping_now, memories=self._memories
            )
        except Exception:
            log.exception("bridge.look_failed", worker=self.owner)
            await asyncio.sleep(POLL_SECONDS)
            return False
        self._swept = monotonic() if sweeping_now else self._swept
        for ticket in tickets:
            self._begin(ticket)
        return bool(tickets) or sealed

    def _room(self) -> Room:
        streams = [each.ticket.agent_pk for each in self.deliveries.values() if not each.trailing]
        return Room(settings.WORKER_STREAMS - len(streams), streams)

    def _begin(self, ticket: Ticket) -> None:
        for other in self.deliveries.values():
            if other.ticket.thread_pk == ticket.thread_pk:
                other.dropped.set()  # a delivery never waits for the reading on of an ended run
        delivery = Delivery(ticket, self.db, arming=self.arming)
        task = asyncio.create_task(self._deliver(delivery))
        self.deliveries[task] = delivery
        task.add_done_callback(self._ended)

    async def _deliver(self, delivery: Delivery) -> None:
        """One attempt; whatever goes wrong in it, its lease does not outlive it."""
        try:
            await delivery.run()
        except Exception:
            log.exception("bridge.delivery_failed", run=delivery.ticket.run_pk)
        finally:
            await asyncio.shield(self._let_go(delivery.ticket))

    async def _let_go(self, ticket: Ticket) -> None:
        try:
            await self.db(leases.let_go, ticket)
        except Exception:  # nobody renews it any more, so it runs out by itself
            log.exception("bridge.not_let_go", run=ticket.run_pk)

    def _ended(self, task: asyncio.Task[None]) -> None:
        delivery = self.deliveries.pop(task)
        self._ended_one = True
        self.bell.ring()
        breaker = self.breakers.of(delivery.ticket.agent_pk)
        if not task.cancelled() and delivery.reached:
            breaker.answered(monotonic())
        elif not task.cancelled():
            breaker.missed(monotonic())

    async def _nap(self) -> None:
        """Until the trail moves, a stream ends, or half a second has passed."""
        end, head = monotonic() + POLL_SECONDS, self._head
        while (left := end - monotonic()) > 0 and not self.stopping.is_set():
            try:
                head = await self.looking(head_of_trail)
            except EVERYBODYS:  # the next look says so, and waits
                break
            if head != self._head or self._ended_one:
                break
            await self.bell.wait(left)
        self._head, self._ended_one = head, False

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(settings.LEASE_SECONDS / 3)
            try:
                await self.pulse(leases.renew, self.owner, [each.ticket for each in self.deliveries.values()])
            except Exception:
                log.exception("bridge.renewal_failed", worker=self.owner)

    async def _drain(self) -> None:
        if self.deliveries:
            await asyncio.wait(self.deliveries, timeout=DRAIN_SECONDS)
        for task in list(self.deliveries):
            task.cancel()
        await asyncio.gather(*self.deliveries, return_exceptions=True)


# What happens in a database thread.


def head_of_trail() -> int:
    return AuditEntry.objects.aggregate(head=Max("seq"))["head"] or 0


def sign_off() -> None:
    """What this worker leaves behind is signed before it goes."""
    anchors.tend(now=clock.now(), force=True)


def find_work(
    owner: str, breakers: Breakers, room: Room, *, sweep: bool, memories: Memories | None = None
) -> tuple[list[Ticket], bool]:
    """Seal, claim and prepare: the requests to make now, while there is room; and whether there may be more to seal."""
    now, memories = clock.now(), memories if memories is not None else defaultdict(Memory)
    if sweep:
        lifecycle.watch_clock(now=now)
        sweeping.sweep(now)
    sealed = all_sealed(sealing.due(now, memory=memories[sealing]), now=now)
    tickets: list[Ticket] = []
    for queue in (resuming, queueing):
        if room.left > 0:
            closed = breakers.closed_to(monotonic()) | room.full()
            look = partial(queue.claimable, now, closed=closed, limit=room.left + 1, memory=memories[queue])
            tickets += claimed(queue, look, owner, breakers, room)
    return tickets, sealed


def all_sealed(due: Sequence[Case], *, now: datetime) -> bool:
    """As many as there is time for, and `EACH_LOOK`: what is sealed already must not wait for the rest.

    Whether there may be more.
    """
    end, found = monotonic() + SEAL_SECONDS, False
    for tried, case in enumerate(due, start=1):
        found |= bool(guarded(partial(sealing.seal, case, now=now), partial(sealing.set_aside, case)))
        if tried >= EACH_LOOK and monotonic() >= end:
            return True
    return found


def claimed(
    queue: ModuleType, look: Callable[[], Sequence[tuple[int, int]]], owner: str, breakers: Breakers, room: Room
) -> list[Ticket]:
    """As many as there is time for, and `EACH_LOOK`, each leased from its own moment on.

    On a busy machine a hundred claims take longer than a lease: then none of them could ever be sent.
    """
    tickets, tried = list[Ticket](), 0
    try:
        wanted, end = look(), monotonic() + CLAIM_SECONDS
        for pk, agent in wanted:
            if room.admits(agent) and breakers.of(agent).admits(monotonic()):
                tried, now = tried + 1, clock.now()
                claim, set_aside = partial(queue.claim, pk, owner=owner, now=now), partial(queue.set_aside, pk)
                if (ticket := guarded(claim, set_aside)) is not None:
                    tickets.append(ticket)
                    room.take(agent)
            if tried >= EACH_LOOK and monotonic() >= end:
                break
    except EVERYBODYS:  # those that are claimed already, here or in the queue before, go their way
        log.exception("bridge.claim_failed", worker=owner)
    return tickets


def guarded(deed: Callable[[], Any], set_aside: Callable[..., None]) -> Any:
    """A fault of ours in one row must not keep the others waiting, nor be tried for ever: people are told of it."""
    try:
        return deed()
    except EVERYBODYS:
        raise
    except Exception:
        log.exception("bridge.fault", deed=repr(deed))
    try:
        set_aside(now=clock.now())
    except Refused:  # it has ended meanwhile
        log.info("bridge.not_set_aside", deed=repr(deed))
    return None

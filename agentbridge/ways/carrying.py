"""All streams that one process relays, and the leases that keep them its own."""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
from collections.abc import AsyncIterator, Callable
from time import monotonic
from weakref import WeakKeyDictionary

import structlog
from django.conf import settings

from agentbridge.delivery.tickets import Ticket
from agentbridge.models import Agent
from agentbridge.ways import admission, tokens
from agentbridge.ways.pull import Waits
from agentbridge.ways.relay import Relayed, Threads
from agentbridge.wire.record import RunInput
from agentbridge.work.database import DatabaseThreads
from agentbridge.work.leases import let_go, renew

log = structlog.get_logger(__name__)

LOOK_SECONDS = 0.5


class Full(Exception):
    """This process carries as many streams as it may, or has as many listeners."""


class Relays:
    """All streams that this process carries, and the lease that keeps them its own."""

    def __init__(self) -> None:
        self.owner = f"relay-{platform.node()[:24]}-{os.getpid()}-{secrets.token_hex(4)}"
        self.db = DatabaseThreads()  # for the other ways in
        self.threads = Threads()
        self._carried: dict[asyncio.Task[None], Relayed] = {}
        self.waits = Waits()
        self._followers = 0
        self._tending: dict[str, asyncio.Task[None]] = {}

    async def admitted(
        self, slug: str, authorization: str, read: Callable[[], bytes]
    ) -> tuple[Agent | None, bytes, RunInput | None]:
        """The agent of this caller's token, the body, and what it asks of the agent, in one turn of a database thread.

        Nothing of the body is said, or read, to whoever has no right token; nor is it judged before the caller's
        decisions in it are known, where callers decide. Raises `Full` and what `admission` raises.
        """
        found: tuple[Agent | None, bytes, RunInput | None]
        found = await self.threads.door(self._admitted, slug, authorization, read)
        return found

    def _admitted(
        self, slug: str, authorization: str, read: Callable[[], bytes]
    ) -> tuple[Agent | None, bytes, RunInput | None]:
        agent = tokens.agent_of(slug, authorization, "caller")
        if agent is None:
            return None, b"", None
        body = read()
        return agent, body, None if agent.caller_decides else self._checked(agent, body)

    def _checked(self, agent: Agent, body: bytes) -> RunInput:
        self._check_room()
        return admission.check(agent, body)

    async def open(self, agent: Agent, body: bytes, asked: RunInput | None) -> Relayed:
        """Raises `Full`, what `admission` raises, and `Unanswered`. Otherwise the answer's head is here."""
        if asked is None:
            asked = await self.threads.door(self._checked, agent, body)
        self._check_room()  # others came in meanwhile
        relayed = Relayed(agent, body, asked, self.owner, self.threads)
        task = asyncio.create_task(self._carry(relayed))
        self._carried[task] = relayed
        task.add_done_callback(self._carried.pop)
        for tend in (self._keep_leases, self._watch):
            if tend.__name__ not in self._tending or self._tending[tend.__name__].done():
                self._tending[tend.__name__] = asyncio.create_task(tend())
        await relayed.answered()
        return relayed

    def followed(self, frames: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """For one listener. Raises `Full`: each of them asks the database five times a second."""
        if self._followers >= settings.WORKER_STREAMS:
            raise Full
        return self._counted(frames)

    async def _counted(self, frames: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        self._followers += 1
        try:
            async for part in frames:
                yield part
        finally:
            self._followers -= 1

    def _check_room(self) -> None:
        if len(self._carried) >= settings.WORKER_STREAMS:
            raise Full

    async def _carry(self, relayed: Relayed) -> None:
        try:
            await relayed.carry()
        except Exception:
            log.exception("relay.failed", run=relayed.run and relayed.run.pk)
        finally:
            if relayed.ticket is not None and relayed.holds_lease:
                await asyncio.shield(self._let_go(relayed.ticket))

    async def _let_go(self, ticket: Ticket) -> None:
        try:
            await self.threads.door(let_go, ticket)
        except Exception:  # the lease then runs out by itself
            log.exception("relay.not_let_go", run=ticket.run_pk)

    async def _watch(self) -> None:
        while self._carried:
            await asyncio.sleep(LOOK_SECONDS)
            for relayed in list(self._carried.values()):
                try:
                    await relayed.look()
                except Exception:
                    log.exception("relay.look_failed", owner=self.owner)

    async def _keep_leases(self) -> None:
        renewed = monotonic()
        while self._carried:
            await asyncio.sleep(LOOK_SECONDS)
            if monotonic() - renewed < settings.LEASE_SECONDS / 3:
                continue
            renewed = monotonic()
            try:
                armed = [relayed.ticket for relayed in self._carried.values() if relayed.ticket is not None]
                await self.threads.pulse(renew, self.owner, armed)
            except Exception:
                log.exception("relay.renewal_failed", owner=self.owner)


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Relays] = WeakKeyDictionary()


def here() -> Relays:
    """The relays of the running event loop."""
    loop = asyncio.get_running_loop()
    found = _by_loop.get(loop)
    if found is None:
        found = _by_loop[loop] = Relays()
    return found

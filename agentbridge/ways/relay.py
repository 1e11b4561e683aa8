"""The relay: an agent's answer on its way to the caller, byte for byte, while it is recorded to its end.

The caller only listens. When it goes away the recording goes on; when the stream breaks off it breaks off for the
caller too, and nothing is made up in its place (X-6, T-97). Bytes that may hold a run's end are on record before the
caller sees them: whoever saw a pause finds its case here.
"""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
from collections import deque
from collections.abc import AsyncIterator
from weakref import WeakKeyDictionary

import structlog
from django.conf import settings
from django.utils.translation import gettext as _

from agentbridge.delivery.tickets import Ticket
from agentbridge.models import Agent
from agentbridge.net import client, egress
from agentbridge.ways import admission
from agentbridge.work.database import DatabaseThreads
from agentbridge.work.delivering import Database, Delivery, Pace, put_away
from agentbridge.work.worker import let_go, renew
from approvals import clock

log = structlog.get_logger(__name__)

ENDS = (b"RUN_FINISHED", b"RUN_ERROR")
SEAM = max(map(len, ENDS)) - 1
BLANK_LINES = (b"\n\n", b"\r\n\r\n", b"\r\r")


class Full(Exception):
    """This process carries as many streams as it may."""


class Unanswered(Exception):
    """The agent was not reached or said nothing: the sentence says why."""

    def __init__(self, sentence: str, *, late: bool = False) -> None:
        super().__init__(sentence)
        self.late = late


class Relayed(Delivery):
    """One request with a caller who listens."""

    def __init__(self, ticket: Ticket, db: Database) -> None:
        super().__init__(ticket, db)
        self.head: asyncio.Future[client.Answer] = asyncio.get_running_loop().create_future()
        self._coming: asyncio.Queue[bytes | None] = asyncio.Queue()  # at most one stream's limit
        self._attended = True
        self._seam = b""
        self._ending = False
        self._held: deque[tuple[int, bytes]] = deque()  # until it is on record: where it ends in the stream
        self._pumping: list[asyncio.Task[None]] = []
        self._pumped = 0
        self._inbox: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            if not self.head.done():
                self.head.set_exception(Unanswered(_("Nothing was sent to the agent.")))
                self.head.exception()  # read here, since the caller may be gone
            self._coming.put_nowait(None)

    async def failed(self, trouble: egress.EgressError) -> None:
        await super().failed(trouble)
        self.head.set_exception(Unanswered(trouble.sentence, late=trouble.kind == "timeout"))
        self.head.exception()

    async def listen(self, answer: client.Answer) -> None:
        self.head.set_result(answer)
        try:
            await super().listen(answer)
        finally:
            await put_away(*self._pumping)
        self._release(self._pumped)

    async def parts(self, source: AsyncIterator[bytes], pace: Pace) -> AsyncIterator[bytes]:
        """Hand parts to the recorder behind the caller's back; a run's end reaches the caller once it is on record."""
        self._pumping.append(asyncio.create_task(self._pump(source)))
        taken = 0
        async for part in super().parts(self._recorders(), pace):
            taken += len(part)
            pace.urgent = pace.urgent or bool(part and self._held)
            yield part
            if not pace.held:
                self._release(taken)

    async def _pump(self, source: AsyncIterator[bytes]) -> None:
        """From the agent to the caller without waiting for anything, and to the recorder."""
        try:
            async for part in source:
                self._pumped += len(part)
                if self._may_end(part) or self._held:
                    self._held.append((self._pumped, part))
                else:
                    self._forward(part)
                self._inbox.put_nowait(part)
        except Exception as trouble:  # whatever it is, the recorder meets it at its place in the stream
            self._inbox.put_nowait(trouble)
        else:
            self._inbox.put_nowait(None)

    async def _recorders(self) -> AsyncIterator[bytes]:
        while (part := await self._inbox.get()) is not None:
            if isinstance(part, Exception):
                raise part
            yield part

    def _may_end(self, part: bytes) -> bool:
        """From the name of an end to the blank line behind it, wherever the network cuts."""
        seen = self._seam + part
        self._seam = seen[-SEAM:]
        self._ending = self._ending or any(word in seen for word in ENDS)
        ending, self._ending = self._ending, self._ending and not seen.endswith(BLANK_LINES)
        return ending

    def _release(self, stored: int) -> None:
        """What waited for its record and has it."""
        while self._held and self._held[0][0] <= stored:
            self._forward(self._held.popleft()[1])

    def _forward(self, part: bytes) -> None:
        if self._attended:
            self._coming.put_nowait(part)

    async def body(self) -> AsyncIterator[bytes]:
        """What the caller gets; leaving it early changes nothing for the recording."""
        try:
            while (part := await self._coming.get()) is not None:
                yield part
        finally:
            self._attended = False


class Relays:
    """All streams that this process carries, and the lease that keeps them its own."""

    def __init__(self) -> None:
        self.owner = f"relay-{platform.node()[:24]}-{os.getpid()}-{secrets.token_hex(4)}"
        self.db = DatabaseThreads()
        self._carried: set[asyncio.Task[None]] = set()
        self._heart: asyncio.Task[None] | None = None

    async def open(self, agent: Agent, body: bytes) -> Relayed:
        """Raises `Full`, what `admission.admit` raises, and `Unanswered`. Otherwise the answer's head is here."""
        if len(self._carried) >= settings.WORKER_STREAMS:
            raise Full
        ticket = await self.db(_admit, agent, body, self.owner)
        relayed = Relayed(ticket, self.db)
        task = asyncio.create_task(self._carry(relayed))
        self._carried.add(task)
        task.add_done_callback(self._carried.discard)
        if self._heart is None or self._heart.done():
            self._heart = asyncio.create_task(self._keep_leases())
        await asyncio.shield(relayed.head)  # a caller who goes away now leaves the recording alone
        return relayed

    async def _carry(self, relayed: Relayed) -> None:
        try:
            await relayed.run()
        except Exception:
            log.exception("relay.failed", run=relayed.ticket.run_pk)
        finally:
            await asyncio.shield(self.db(let_go, relayed.ticket))

    async def _keep_leases(self) -> None:
        while self._carried:
            await asyncio.sleep(settings.LEASE_SECONDS / 3)
            try:
                await self.db(renew, self.owner)
            except Exception:
                log.exception("relay.renewal_failed", owner=self.owner)


def _admit(agent: Agent, body: bytes, owner: str) -> Ticket:
    return admission.admit(agent, body, owner=owner, now=clock.now())


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Relays] = WeakKeyDictionary()


def here() -> Relays:
    """The relays of the running event loop."""
    return _by_loop.setdefault(asyncio.get_running_loop(), Relays())

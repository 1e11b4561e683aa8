"""The relay: an agent's answer on its way to the caller, byte for byte, while it is recorded to its end.

The caller only listens. When it goes away the recording goes on; when the stream breaks off it breaks off for the
caller too, and nothing is made up in its place (X-6, T-97). Bytes that may hold a run's end are on record before the
caller sees them: whoever saw a pause finds its case here.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic

import structlog
from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from agentbridge.delivery.resuming import NotArmed, Stale
from agentbridge.delivery.tickets import Ticket, headers_of
from agentbridge.models import Agent, Run
from agentbridge.net import client, egress
from agentbridge.runs.recorder import Recording
from agentbridge.ways import admission
from agentbridge.ways.keeping import Keeper, Page
from agentbridge.ways.passing import Passage
from agentbridge.wire.record import RunInput
from agentbridge.work.database import DatabaseThreads, need_not_wait
from agentbridge.work.delivering import (
    TRAILING_SECONDS,
    head_of,
    is_needed,
    longest_stand,
    over,
    unsent,
    wrong_type,
)
from approvals import clock
from approvals.refusals import Refused

log = structlog.get_logger(__name__)

# An end's name, or a letter written as an escape: JSON may spell the name so, and nobody else has a reason to.
ENDS = (b"RUN_FINISHED", b"RUN_ERROR", b"\\u004", b"\\u005", b"\\u006", b"\\u007")
SEAM = max(map(len, ENDS)) - 1
BLANK_LINES = (b"\n\n", b"\r\n\r\n", b"\r\r")
TOO_LONG = "We stopped reading: the run took longer than {seconds:g} seconds."


class Unanswered(Exception):
    """The agent was not reached or said nothing: the sentence says why."""

    def __init__(self, sentence: str, *, late: bool = False) -> None:
        super().__init__(sentence)
        self.late = late


class Threads:
    """Where database work is done: requests do not wait for recording, nor leases for either."""

    def __init__(self) -> None:
        self.door = DatabaseThreads(4)
        self.pulse = DatabaseThreads(1)
        self.keeper = Keeper()


class Relayed:
    """One request with a caller who listens."""

    def __init__(self, agent: Agent, body: bytes, asked: RunInput, owner: str, threads: Threads) -> None:
        self.agent, self.sent, self.asked, self.owner, self.threads = agent, body, asked, owner, threads
        self.head: asyncio.Future[client.Answer] = asyncio.get_running_loop().create_future()
        self._known = asyncio.Event()  # that `head` is
        self.run: Run | None = None  # from arming on, as it was admitted
        self.ticket: Ticket | None = None
        self.page: Page | None = None
        self._reading: asyncio.Task[None] | None = None
        self._cut: str | None = None
        self._trouble = ""
        self.passage = Passage(limit=settings.UNREAD_LIMIT)
        self._received = 0
        self._seam = b""
        self._ending = False
        self._held: deque[tuple[int, bytes]] = deque()  # until it is on record: where it ends in the stream
        self._began = self._spoke = monotonic()
        self._events = 0

    async def carry(self) -> None:
        """To the last byte. Refusals, and whatever else keeps the answer's head from coming, stand in `head`."""
        try:
            await self._ask()
        except Refused as reason:  # another request was first, and the agent is out of reach
            self._say(reason)
        except BaseException as trouble:
            self._say(trouble if isinstance(trouble, Exception) else Unanswered(_("Nothing was sent to the agent.")))
            raise
        finally:
            self.passage.finish()
            if self.passage.overrun:
                log.warning("relay.caller_too_slow", run=self.run and self.run.pk)

    async def answered(self) -> client.Answer:
        """Its head. A caller who goes away meanwhile leaves the recording alone. Raises what stands in `head`."""
        await self._known.wait()
        return self.head.result()

    async def _ask(self) -> None:
        try:
            agent = self.agent
            async with client.post(agent.url, headers=headers_of(agent), body=self.sent, arm=self._arm) as answer:
                if self.run is not None:  # always: an answer comes after arming
                    await self._listen(answer, self.run)
        except (Refused, NotArmed) as reason:
            await self._not_sent(reason)
        except egress.EgressError as trouble:
            await self._failed(trouble)

    async def _arm(self) -> None:
        """The connection stands: on record, and from here on bytes may have left us."""
        run, since = await self.threads.door(_armed, self.agent, self.sent, self.asked, self.owner)
        self.run, self.ticket = run, admission.ticket_of(run)
        if monotonic() - since > longest_stand(first=True):
            raise Stale(_("This process stood still between arming and sending; nothing was sent."))

    async def _not_sent(self, reason: Refused | NotArmed) -> None:
        if self.ticket is not None:
            await self.threads.door(unsent, self.ticket, str(reason))
        self._say(reason if isinstance(reason, Refused) else Unanswered(str(reason)))

    async def _failed(self, trouble: egress.EgressError) -> None:
        """Not reached: the run is on record as never sent. Silent after it was sent: as far as it came."""
        if trouble.nothing_sent:
            await self.threads.door(_admit_unsent, self.agent, self.sent, trouble.sentence)
        elif self.run is not None:
            recording = await self.threads.door(Recording, self.run)
            await self.threads.door(over, recording, trouble=trouble.sentence)
        self._say(Unanswered(trouble.sentence, late=trouble.kind == "timeout"))

    def _say(self, trouble: Exception) -> None:
        if not self.head.done():
            self.head.set_exception(trouble)
            self.head.exception()  # read here, since the caller may be gone
            self._known.set()

    async def _listen(self, answer: client.Answer, run: Run) -> None:
        self._trouble = wrong_type(answer)
        self.page = page = self.threads.keeper.open(run, head_of(answer), on_record=self._release)
        self._reading = asyncio.create_task(self._read(answer, page))
        self.head.set_result(answer)
        self._known.set()  # behind the reading: what came with the head then leaves with it
        [broken] = await asyncio.gather(self._reading, return_exceptions=True)
        if isinstance(broken, Exception):
            log.error("relay.not_read", run=run.pk, exc_info=broken)
            self._trouble = "We could not read the answer any further."
        await self.threads.keeper.close(page, cut=self._cut, trouble=self._trouble)
        self._release(self._received)

    async def _read(self, answer: client.Answer, page: Page) -> None:
        """From the agent to the caller without waiting for anything, and to the record."""
        try:
            async for part in answer.aiter():
                self._received += len(part)
                if self._may_end(part) or self._held:
                    self._held.append((self._received, part))
                else:
                    self.passage.add(part)
                self.threads.keeper.add(page, part, urgent=bool(self._held))
        except egress.EgressError as ended:
            self._cut = ended.sentence if ended.kind in ("timeout", "limit") else None
            self._trouble = ended.sentence

    @property
    def holds_lease(self) -> bool:
        """Armed, and its end is not on record: whoever sweeps must not wait for the lease to run out."""
        return self.run is not None and (self.page is None or not self.page.ended or self.page.trouble is not None)

    async def look(self) -> None:
        """Now and then: whether there is a reason to read no further."""
        page, reading = self.page, self._reading
        if page is None or reading is None or reading.done():
            return
        if page.events != self._events:
            self._events, self._spoke = page.events, monotonic()
        if monotonic() - self._began >= settings.RUN_SECONDS:
            self._cut = TOO_LONG.format(seconds=settings.RUN_SECONDS)
        quiet = page.ended and monotonic() - self._spoke >= TRAILING_SECONDS
        if self._cut or page.stopped or quiet or (page.ended and await self.threads.door(is_needed, self.ticket)):
            reading.cancel()

    def _may_end(self, part: bytes) -> bool:
        """From the name of an end to the blank line behind it, wherever the network cuts."""
        seen = self._seam + part
        self._seam = seen[-SEAM:]
        self._ending = self._ending or any(word in seen for word in ENDS)
        ending, self._ending = self._ending, self._ending and not seen.endswith(BLANK_LINES)
        return ending

    def _release(self, stored: int) -> None:
        """What waited for its record and has it. Where we read no end, nothing tells the caller of one (X-6)."""
        if self.page is not None and self.page.cut_off:
            return
        due = []
        while self._held and self._held[0][0] <= stored:
            due.append(self._held.popleft()[1])
        self.passage.catch_up(due)


def _armed(agent: Agent, body: bytes, asked: RunInput, owner: str) -> tuple[Run, float]:
    """The run, and since when: others may draw conclusions from a run that is armed and long not sent."""
    with transaction.atomic():  # on SQLite the writers' turn is taken here, and waiting for it is no standing still
        since = monotonic()
        need_not_wait()
        return admission.admit(agent, body, asked, owner=owner, now=clock.now()), since


def _admit_unsent(agent: Agent, body: bytes, sentence: str) -> None:
    admission.admit_unsent(agent, body, sentence, now=clock.now())

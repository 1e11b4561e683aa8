"""One request, from the connection to the last byte: connect, arm, send, and record what comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import Any, Protocol

from django.conf import settings
from django.utils import timezone

from agentbridge.delivery import backoff, crash, resuming
from agentbridge.delivery.resuming import NotArmed, Stale
from agentbridge.delivery.tickets import Head, Ticket
from agentbridge.models import Run
from agentbridge.net import client, egress
from agentbridge.runs import queueing
from agentbridge.runs.recorder import Recording
from agentbridge.work.database import EVERYBODYS
from approvals import clock
from approvals.refusals import Refused

BATCH_BYTES = 256 * 1024  # a commit takes as long as reading 64 kB: larger portions keep storing cheap
BATCH_SECONDS = 0.5  # the longest that received bytes wait for their commit
TRAILING_SECONDS = 10.0  # after the run's end, without one event
STALE_SECONDS = 2.0  # between the commit of arming and the first byte: a deadline may pass meanwhile
# Frames that change what people see are stored and read at once; a hint, nothing is concluded from it.
URGENT = (b"RUN_", b"_RESULT")


class Database(Protocol):
    """Runs a function in a database thread."""

    async def __call__(self, deed: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...

    async def surely(self, deed: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...


class Delivery:
    """One attempt. `reached` says afterwards whether the agent could be connected to."""

    def __init__(self, ticket: Ticket, db: Database, *, arming: Database | None = None) -> None:
        self.ticket, self.db, self.arming = ticket, db, arming or db
        self.reached = True
        self.trailing = False
        self.dropped = asyncio.Event()

    async def run(self) -> None:
        try:
            async with client.post(
                self.ticket.url, headers=self.ticket.headers, body=self.ticket.body, arm=self.arm
            ) as answer:
                await self.listen(answer)
        except NotArmed as reason:  # our own standing still: the agent was not tried
            await self.db.surely(unsent, self.ticket, str(reason), missed=False)
        except egress.EgressError as trouble:
            await self.failed(trouble)

    async def arm(self) -> None:
        """Raises `NotArmed` for whatever forbids the first byte, also that it comes too long after its record."""
        try:
            since = await self.arming(arm, self.ticket)
        except EVERYBODYS as trouble:  # whether it is armed on record or not: nothing was sent, nor will be
            raise NotArmed("The database was in trouble; nothing was sent.") from trouble
        if monotonic() - since > longest_stand(first=self.ticket.resume_pk is None):
            raise Stale("This worker stood still between arming and sending; nothing was sent.")

    async def failed(self, trouble: egress.EgressError) -> None:
        """Before arming nothing was sent. After it the answer is over before its head came."""
        if trouble.nothing_sent:
            self.reached = trouble.kind == "not_allowed"  # our own refusal says nothing about the agent
            await self.db.surely(unsent, self.ticket, trouble.sentence)
            return
        recording = await self.db.surely(begin, self.ticket)
        await self.db.surely(over, recording, trouble=trouble.sentence)

    async def listen(self, answer: client.Answer) -> None:
        crash.point("sent")
        recording = await self.db.surely(begin, self.ticket)
        await self.db.surely(recording.opened, head_of(answer))
        pace = Pace()
        cut, trouble = None, wrong_type(answer)
        try:
            async for part in self.parts(answer.aiter(), pace):
                if part:
                    pace.add(part)
                if pace.is_due():
                    await self.db.surely(keep, recording, pace.take())
                    self.trailing = recording.ended
                if recording.reader.stopped or pace.is_over(recording):
                    break
                if self.trailing and pace.may_look() and await self.db.surely(is_needed, self.ticket):
                    break
                cut = pace.too_long()
                if cut:
                    break
        except egress.EgressError as ended:
            cut = ended.sentence if ended.kind in ("timeout", "limit") else None
            trouble = ended.sentence
        if pace.held:
            await self.db.surely(keep, recording, pace.take())
        await self.db.surely(over, recording, cut=cut, trouble=trouble)

    async def parts(self, source: AsyncIterator[bytes], pace: Pace) -> AsyncIterator[bytes]:
        """Parts as they come, and b"" when it is time to look at the clock; ends when a delivery needs the thread."""
        coming: asyncio.Future[bytes | None] = asyncio.ensure_future(following(source))
        dropped = asyncio.ensure_future(self.dropped.wait())
        try:
            while not (self.dropped.is_set() and self.trailing):
                watched: set[asyncio.Future[Any]] = {coming, dropped} if self.trailing else {coming}
                await asyncio.wait(watched, timeout=pace.patience(), return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    yield b""
                    continue
                part = coming.result()
                if part is None:
                    return
                coming = asyncio.ensure_future(following(source))
                yield part
        finally:
            await put_away(coming, dropped)


async def following(source: AsyncIterator[bytes]) -> bytes | None:
    return await anext(source, None)


async def put_away(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Pace:
    """When bytes are stored and when reading stops."""

    def __init__(self) -> None:
        self.held = bytearray()
        self.held_since = 0.0
        self.urgent = False
        self.began = monotonic()
        self.events, self.last_event = 0, self.began
        self.looked = self.began

    def add(self, part: bytes) -> None:
        if not self.held:
            self.held_since = monotonic()
        seam = bytes(self.held[-8:]) + part
        self.held += part
        self.urgent = self.urgent or any(word in seam for word in URGENT)

    def is_due(self) -> bool:
        if not self.held:
            return False
        return self.urgent or len(self.held) >= BATCH_BYTES or monotonic() - self.held_since >= BATCH_SECONDS

    def take(self) -> bytes:
        data, self.held, self.urgent = bytes(self.held), bytearray(), False
        return data

    def patience(self) -> float:
        """How long to wait for the next part before looking at the clock."""
        return max(0.01, BATCH_SECONDS - (monotonic() - self.held_since)) if self.held else BATCH_SECONDS

    def is_over(self, recording: Recording) -> bool:
        """The run has ended and nothing was said for a while; comments do not count."""
        if recording.reader.events != self.events:
            self.events, self.last_event = recording.reader.events, monotonic()
        return recording.ended and monotonic() - self.last_event >= TRAILING_SECONDS

    def may_look(self) -> bool:
        """Now and then, not with every part."""
        if monotonic() - self.looked < BATCH_SECONDS:
            return False
        self.looked = monotonic()
        return True

    def too_long(self) -> str | None:
        if monotonic() - self.began < settings.RUN_SECONDS:
            return None
        return f"We stopped reading: the run took longer than {settings.RUN_SECONDS:g} seconds."


def head_of(answer: client.Answer) -> Head:
    return Head(
        status=answer.status,
        server=answer.header("server"),
        retry_after=backoff.seconds_asked(answer.header("retry-after"), now=timezone.now()),
        bytes_sent=answer.bytes_sent,
        trouble=wrong_type(answer),
    )


def wrong_type(answer: client.Answer) -> str:
    """Why nothing of this answer may be readable; "" where it is called what it should be."""
    if answer.status != 200:
        return ""
    if not answer.is_stream:
        return f"The answer is {answer.content_type or 'of no type'}, not an event stream."
    coding = answer.header("content-encoding").strip().lower()
    return f"The answer is compressed ({coding}), which was not asked for." if coding not in ("", "identity") else ""


# What happens in a database thread.


def begin(ticket: Ticket) -> Recording:
    return Recording(Run.objects.select_related("thread__agent", "resume__case").get(pk=ticket.run_pk))


def keep(recording: Recording, data: bytes) -> None:
    recording.keep(data, now=clock.now())


def over(recording: Recording, *, cut: str | None = None, trouble: str = "") -> None:
    recording.close(cut=cut, trouble=trouble, now=clock.now())


def is_needed(ticket: Ticket) -> bool:
    """The thread of an ended run is at work again, in whichever worker: nobody waits for the end of its old stream."""
    return Run.objects.filter(thread=ticket.thread_pk, pk__gt=ticket.run_pk).exclude(kind=Run.Kind.OBSERVED).exists()


def arm(ticket: Ticket) -> float:
    """When it was armed, on this process's steady clock. Raises `NotArmed` for whatever forbids the first byte."""
    verb = resuming.arm if ticket.resume_pk is not None else queueing.arm
    try:
        return verb(ticket, now=clock.now())
    except Refused as reason:
        raise NotArmed(str(reason)) from reason


def longest_stand(*, first: bool) -> float:
    """Seconds between arming and sending. An answer that stood longer waits for another attempt, which costs nothing.

    A first run has no deadline and no other attempt: it may stand while nobody can take it for lost, so that a disk
    that takes seconds for a commit ends no run. Arming renews its lease.
    """
    return max(STALE_SECONDS, settings.LEASE_SECONDS / 2) if first else STALE_SECONDS


def unsent(ticket: Ticket, sentence: str, *, missed: bool = True) -> None:
    verb = resuming.put_back if ticket.resume_pk is not None else queueing.put_back
    verb(ticket, sentence=sentence, missed=missed, now=clock.now())

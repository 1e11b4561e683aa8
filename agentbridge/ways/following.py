"""What happens on a thread, run after run, as one stream of events: resumed runs included, from any position.

Frames are the agent's, unchanged in content and order; each gets an `id`, `<run>.<frame>`, from which a listener goes
on after a break. A run that broke off simply ends: nothing is put in the place of an end that never came (X-6, X-10).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

from django.conf import settings
from django.utils.translation import gettext as _

from agentbridge.models import Agent, Run, Thread
from agentbridge.models.agents import key_of
from agentbridge.ways import tokens
from agentbridge.wire.sse import Frame, FrameTooLarge, Parser
from agentbridge.work.delivering import TRAILING_SECONDS, Database
from approvals import clock

POLL_SECONDS = 0.2
KEEP_ALIVE_SECONDS = 15.0
RIGHTS_SECONDS = 5.0  # a token that was replaced opens nothing any more, nor keeps it open for longer
CHUNKS = 20  # read at once
AFTER_END = timedelta(seconds=TRAILING_SECONDS + 5)  # until nothing more comes of an ended run, whoever reads it
SHORTLY = timedelta(seconds=1)  # the same for a listener who wants the run and not what an agent says behind its end
POSITION = re.compile(r"(\d{1,18})\.(\d{1,18})")


class NoPosition(ValueError):
    """What was given names no place on this thread."""


@dataclass(frozen=True, slots=True)
class Place:
    """After so many frames of a run; `run` 0: from the thread's beginning."""

    run: int = 0
    frames: int = 0


def place_of(thread: Thread, *, after: str = "", run_id: str | None = None) -> Place:
    """Where to go on: behind a position that was handed out, or behind a whole run. Raises NoPosition."""
    if run_id is not None:
        run = thread.runs.filter(key=key_of(run_id)).first()
        if run is None:
            raise NoPosition(_("There is no such run on this thread."))
        return Place(run.pk + 1)
    if not after:
        return Place()
    found = POSITION.fullmatch(after)
    if found is None:
        raise NoPosition(_("This is no position: give back an id as it was sent."))
    return Place(int(found[1]), int(found[2]))


class Follower:
    """Reads on from a place, for ever or for so many runs. Not shared between threads at the same time."""

    def __init__(self, agent: Agent, thread: Thread, place: Place, *, runs: int | None = None) -> None:
        """`agent`: as its caller's token found it."""
        self.agent = agent
        self.thread, self._least, self._skip = thread, place.run, place.frames
        self._left, self._patience = runs, AFTER_END if runs is None else SHORTLY
        self._run: Run | None = None
        self._begin(None)

    def look(self, *, now: datetime) -> bytes:
        """The frames that came since the last look, b"" when there are none."""
        if self._run is None:
            self._begin(self._following(self._least))
        if self._run is None:
            return b""
        run = self._run
        told = self._news(run)
        if told or not self._is_over(run, now):
            return told
        return self._news(run) or self._ended(run)  # what came between the two looks belongs to it

    def _news(self, run: Run) -> bytes:
        """Parts that end no event, such as comments while the agent works, are passed over."""
        told = b""
        while not told and (fresh := self._fresh(run)):
            told = b"".join(map(self._read, fresh))
        return told

    def _ended(self, run: Run) -> bytes:
        """On to the next one."""
        told = b"" if self._full else self._told(self._parser.close())
        self._least, self._skip, self._run = run.pk + 1, 0, None
        self._left = None if self._left is None else self._left - 1
        return told

    @property
    def done(self) -> bool:
        return self._left is not None and self._left <= 0

    def _begin(self, run: Run | None) -> None:
        if run is not None and run.pk != self._least:
            self._skip = 0  # the position's own run is not this one
        self._run, self._parser, self._chunk, self._frames = run, Parser(limit=settings.FRAME_LIMIT), 0, 0
        self._full = False

    def _following(self, least: int) -> Run | None:
        spoken = self.thread.runs.filter(pk__gte=least, chunks__isnull=False)
        return spoken.only("pk").order_by("pk").first()

    def _fresh(self, run: Run) -> list[bytes]:
        found = run.chunks.filter(n__gte=self._chunk).order_by("n").values_list("data", flat=True)[:CHUNKS]
        self._chunk += len(found)
        return [bytes(data) for data in found]

    def _read(self, data: bytes) -> bytes:
        """As far as the recording was read: no end behind a frame over the limit is one (X-6)."""
        if self._full:
            return b""
        try:
            return self._told(self._parser.feed(data))
        except FrameTooLarge as large:
            self._full = True
            return self._told(large.frames)

    def _told(self, frames: list[Frame]) -> bytes:
        told = bytearray()
        for frame in frames:
            self._frames += 1
            if self._frames > self._skip and self._run is not None:
                told += f"id: {self._run.pk}.{self._frames}\n".encode()
                told += b"".join(f"data: {line}\n".encode() for line in frame.data.split("\n")) + b"\n"
        return bytes(told)

    def _is_over(self, run: Run, now: datetime) -> bool:
        """Nothing more comes of it, or a later run speaks already."""
        run.refresh_from_db(fields=["status", "ended_at"])
        if run.status in (Run.Status.QUEUED, Run.Status.RUNNING) or run.ended_at is None:
            return False
        quiet = now - run.ended_at > self._patience
        return quiet or self._following(run.pk + 1) is not None


async def follow(follower: Follower, db: Database) -> AsyncIterator[bytes]:
    """As long as a run may take; a listener then comes back with the last id. Comments keep the connection alive."""
    began = said = asked = monotonic()
    yield b": following\n\n"
    while not follower.done and monotonic() - began < settings.RUN_SECONDS:
        if monotonic() - asked >= RIGHTS_SECONDS:
            asked = monotonic()
            if not await db(tokens.holds_still, follower.agent, "caller"):
                return
        told = await db(_look, follower)
        if told:
            yield told
            said = monotonic()
            continue
        if monotonic() - said >= KEEP_ALIVE_SECONDS:
            yield b":\n\n"
            said = monotonic()
        await asyncio.sleep(POLL_SECONDS)


def _look(follower: Follower) -> bytes:
    return follower.look(now=clock.now())


def begin(agent: Agent, thread_id: str, *, after: str, run_id: str | None, runs: str | None) -> Follower | None:
    """None: the agent has no such thread. Raises NoPosition."""
    if runs is not None and not re.fullmatch(r"[1-9]\d{0,3}", runs):
        raise NoPosition(_("“runs” is a number from 1 on."))
    thread = Thread.objects.filter(agent=agent, key=key_of(thread_id)).first()
    if thread is None:
        return None
    return Follower(agent, thread, place_of(thread, after=after, run_id=run_id), runs=int(runs) if runs else None)

"""The record of many answers that are read at once: the bytes of all of them in one commit, then what they say.

A page takes one answer's bytes. What came within a moment is stored together with what came on all other pages, and
read only then. A page whose bytes mean something (a start, a result, an end) acts on them in a thread of its own turn:
no other page waits for that.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

import structlog
from django.db import connection, transaction

from agentbridge.delivery import crash
from agentbridge.delivery.tickets import Head
from agentbridge.models import Run, StreamChunk
from agentbridge.runs.recorder import Recording, new_chunks
from agentbridge.wire.record import Fact, Started
from agentbridge.work.database import DatabaseThreads
from agentbridge.work.delivering import over
from approvals import clock

log = structlog.get_logger(__name__)

TICK_SECONDS = 0.4  # the longest that received bytes wait for their commit
TRIES = 3  # of a commit that fails
PAUSE_SECONDS = 0.5  # between them


class Page:
    """One answer on its way to the record. Its recording belongs to one database thread at a time."""

    def __init__(self, run: Run, head: Head, *, on_record: Callable[[int], None]) -> None:
        self.run, self.head = run, head  # the run as it was admitted
        self.recording: Recording | None = None
        self.fresh = bytearray()  # received, not stored
        self.unread: deque[bytes] = deque()  # stored, not read; filled by one thread, emptied by another
        self.facts: list[Fact] = []
        self.chunks = self.received = self.stored = self.read = 0  # bytes, but for the first
        self.busy = False
        self.trouble: BaseException | None = None
        self.idle = asyncio.Event()
        self.on_record = on_record  # told how many bytes are stored, read and acted on

    @property
    def ended(self) -> bool:
        """The run's end is on record: reading on is for late news only."""
        return self.recording is not None and self.recording.ended

    @property
    def cut_off(self) -> bool:
        """We stopped reading before the run's end, at a limit: whatever came behind it has no meaning here."""
        view = self.recording.view if self.recording is not None else None
        return view is not None and view.cut is not None

    @property
    def stopped(self) -> bool:
        """Nothing more of it is wanted, or nothing more can be kept."""
        return self.trouble is not None or (self.recording is not None and bool(self.recording.reader.stopped))

    @property
    def events(self) -> int:
        return self.recording.reader.events if self.recording is not None else 0


class Keeper:
    """Keeps all pages of one event loop."""

    def __init__(self) -> None:
        self._storing = DatabaseThreads(1)
        self._deeds = DatabaseThreads(3)
        self._waiting: dict[Page, None] = {}  # pages with fresh bytes, in the order of the first
        self._urgent = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._acting: set[asyncio.Task[None]] = set()

    def open(self, run: Run, head: Head, *, on_record: Callable[[int], None]) -> Page:
        page = Page(run, head, on_record=on_record)
        self._expect(page)
        return page

    def add(self, page: Page, part: bytes, *, urgent: bool = False) -> None:
        page.fresh += part
        page.received += len(part)
        page.idle.clear()
        if urgent:
            self._urgent.set()
        self._expect(page)

    def _expect(self, page: Page) -> None:
        """In the next commit; without bytes to store, only the head of the answer."""
        self._waiting[page] = None
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._keep())

    async def close(self, page: Page, *, cut: str | None, trouble: str) -> None:
        """Everything that came is on record and acted on, then the answer is over. Raises what kept that from being."""
        self._urgent.set()
        await page.idle.wait()
        if page.trouble is not None:
            raise page.trouble
        await self._deeds(over, page.recording, cut=cut, trouble=trouble)

    async def stop(self) -> None:
        """Give the threads and their connections back."""
        await self._storing.close()
        await self._deeds.close()

    async def _keep(self) -> None:
        while self._waiting:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._urgent.wait(), TICK_SECONDS)
            self._urgent.clear()
            pages = list(self._waiting)
            portions = [(page, bytes(page.fresh)) for page in pages if page.fresh]
            for page in pages:
                page.fresh.clear()
            self._waiting.clear()
            if portions:
                await self._stored(portions)
            idle = [page for page in pages if not page.busy]
            for page in idle:
                page.busy = True
            await self._storing(read, idle)
            for page in idle:
                self._settle(page)

    async def _stored(self, portions: list[tuple[Page, bytes]]) -> None:
        """All in one commit. When that fails, each for itself: one page's trouble is not the others'."""
        for _ in range(TRIES):
            try:
                await self._storing(store, portions)
            except Exception:
                log.exception("keeping.failed", pages=len(portions))
                await asyncio.sleep(PAUSE_SECONDS)
            else:
                return
        for portion in portions:
            try:
                await self._storing(store, [portion])
            except Exception as trouble:
                portion[0].trouble = trouble

    def _settle(self, page: Page) -> None:
        """Read so far. What that means is done beside the other pages; until then this one is not read further."""
        if page.trouble is None and (page.recording is None or page.facts or page.unread):
            self._act_on(page)
            return
        page.busy = False
        if page.trouble is None:
            page.on_record(page.read)
        if page.trouble is not None or page.read == page.received:
            page.idle.set()

    def _act_on(self, page: Page) -> None:
        page.busy = True
        task = asyncio.create_task(self._act(page))
        self._acting.add(task)
        task.add_done_callback(self._acting.discard)

    async def _act(self, page: Page) -> None:
        try:
            await self._deeds(act, page)
        except Exception as trouble:
            log.exception("keeping.not_understood", run=page.run.pk)
            page.trouble = trouble
        self._settle(page)


# What happens in a database thread.


def store(portions: Sequence[tuple[Page, bytes]]) -> None:
    """Bytes as they came, before anything is concluded from them."""
    now = clock.now()
    rows = [StreamChunk(run_id=page.run.pk, n=page.chunks, at=now, data=data) for page, data in portions]
    sums = [(page.stored + len(data), page.run.pk) for page, data in portions]
    table, column = Run._meta.db_table, connection.ops.quote_name("bytes_received")
    with transaction.atomic():
        new_chunks.add_all(rows)
        with connection.cursor() as cursor:
            cursor.executemany(f"UPDATE {table} SET {column} = %s WHERE id = %s", sums)  # noqa: S608 - our own names
    crash.point("chunk_stored")
    for page, data in portions:
        page.chunks += 1
        page.stored += len(data)
        page.unread.append(data)


def read(pages: Sequence[Page]) -> None:
    """What the stored bytes say; nothing is done about it yet."""
    for page in pages:
        try:
            if page.recording is not None and page.trouble is None:
                _read(page, page.recording)
        except Exception as trouble:
            log.exception("keeping.not_read", run=page.run.pk)
            page.trouble = trouble


def _read(page: Page, recording: Recording) -> None:
    while page.unread:
        data = page.unread.popleft()
        page.facts += recording.read(data)
        page.read += len(data)


def act(page: Page) -> None:
    """Do what the page's bytes mean; what was stored meanwhile is read too."""
    recording = page.recording or Recording(page.run, page.head)
    _read(page, recording)
    facts, page.facts = page.facts, []
    if page.recording is None:
        at_once = len(facts[:1]) if isinstance(next(iter(facts), None), Started) else 0
        with transaction.atomic():  # most agents say at once that they have started: one commit
            recording.opened(page.head)
            recording.act(facts[:at_once], now=clock.now())
        page.recording, facts = recording, facts[at_once:]
    recording.act(facts, now=clock.now())

"""The guard's work: one run a thread at a time, inputs judged on what is on record, answers recorded to their end.

Who asked only listens: when they go away the reading goes on, and whoever asks the same again hears the same.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from agentbridge.guard import reading, rules
from agentbridge.guard.agent import Agent, Answer, Broken, Headers, Unreached
from agentbridge.guard.asking import Ask
from agentbridge.guard.journal import Conclusion, Journal
from agentbridge.guard.live import Live, Replay
from agentbridge.guard.reading import Listener
from agentbridge.guard.refusals import Busy
from agentbridge.guard.trust import Trust

log = logging.getLogger("guard")

STREAMS = 200  # open at once
WAITING = 16  # inputs of one thread
TRAILING_SECONDS = 5.0  # of silence after a run's end
PRUNE_SECONDS = 3600.0
REPAY_SECONDS = 1.0  # between two tries to write down what is owed to the journal
ENDS = (b"RUN_", b"_ERROR")  # parts that may decide something are synced before they are passed on


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What an owner may set."""

    patience: float = 10.0  # seconds that an input waits for the run before it
    stream: int = 64 * 1024 * 1024
    keep: timedelta = timedelta(days=30)


@dataclass
class Lane:
    """One thread, while anybody asks for it."""

    deciding: asyncio.Lock = field(default_factory=asyncio.Lock)
    live: Live | None = None
    users: int = 0


class Guard:
    """Between whoever asks and one agent."""

    def __init__(
        self, agent: Agent, journal: Journal, trust: Trust, *, clock: Callable[[], datetime], bounds: Bounds
    ) -> None:
        self.agent, self.journal, self.trust, self.clock, self.bounds = agent, journal, trust, clock, bounds
        self.running: set[asyncio.Task[None]] = set()
        self._lanes: dict[str, Lane] = {}
        self._owed: dict[str, dict[int, Conclusion]] = {}  # of each thread: ends that are not written down yet
        self._tending: asyncio.Task[None] | None = None
        self._repaying: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")

    async def db(self, deed: Callable[..., Any], *args: Any, **named: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(deed, *args, **named))

    async def ask(self, ask: Ask, *, headers: Headers, query: bytes = b"") -> Live | Replay:
        """What to listen to. Raises Refusal and Busy; then nothing reaches the agent."""
        if self._tending is None:
            self._tending = asyncio.create_task(self.tend())
        lane = self._lanes.setdefault(ask.key, Lane())
        if lane.users > WAITING:
            raise Busy("Too many inputs wait on this thread.", status=429)
        lane.users += 1
        try:
            return await self._in_turn(lane, ask, partial(self._start, lane, ask, headers, query))
        finally:
            self._leave(ask.key, lane)

    async def _in_turn(self, lane: Lane, ask: Ask, start: Callable[[], Live]) -> Live | Replay:
        """Wait for the run before this one; join it when it is the same."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.bounds.patience
        while True:
            async with lane.deciding:
                live = lane.live
                if live is None:
                    past = await self._judged(ask)
                    return start() if past is None else Replay(past, self.journal, self.db)
                if live.answers(ask):
                    return live
            try:
                async with asyncio.timeout_at(end):
                    await live.over.wait()
            except TimeoutError:
                raise Busy("A run of this thread has not ended.", status=429) from None

    async def _judged(self, ask: Ask) -> rules.Past | None:
        await self._write_down(ask.key)
        book = await self.db(self.journal.book, ask.key)
        # In a thread of its own: a costly schema takes up to a second, and keys may have to be fetched.
        judge = partial(rules.judge, book, ask, now=self.clock(), proof=self.trust.proof)
        return await asyncio.to_thread(judge)

    def _start(self, lane: Lane, ask: Ask, headers: Headers, query: bytes) -> Live:
        if len(self.running) >= STREAMS:
            raise Busy("This guard carries as many streams as it may.", status=503)
        lane.live = live = Live(ask, self.journal, self.db)
        lane.users += 1
        task = asyncio.create_task(self._carry(lane, live, headers, query))
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        return live

    def _leave(self, key: str, lane: Lane) -> None:
        lane.users -= 1
        if not lane.users:
            self._lanes.pop(key, None)

    async def _carry(self, lane: Lane, live: Live, headers: Headers, query: bytes) -> None:
        """From the connection to the conclusion. Always ends the live run, whatever happens."""
        ask = live.ask
        read = reading.Listener(thread_id=ask.thread_id, run_id=ask.run_id, limit=self.bounds.stream)
        end: Conclusion | None = None
        try:
            end = await self._exchange(live, read, headers, query)
        except Exception as problem:
            if not isinstance(problem, (Unreached, Broken)):
                log.exception("A run could not be carried to its end.")
            if not live.head.done():
                live.head.set_exception(problem)
                live.head.exception()  # read here: whoever asked may be gone
        finally:
            try:
                await self._conclude(live, read, end)
            except sqlite3.Error as problem:
                log.error("How a run ended cannot be written down yet: %s", problem)
                if self._repaying is None or self._repaying.done():
                    self._repaying = asyncio.create_task(self._repay())
            finally:  # a run that cannot be concluded blocks nobody who waits
                lane.live = None
                live.end()
                self._leave(ask.key, lane)
            await self.left(live)

    async def _exchange(self, live: Live, read: Listener, headers: Headers, query: bytes) -> Conclusion:
        """Raises Unreached and Broken before the head of the answer; afterwards a break is part of what came."""

        async def arm() -> None:
            live.run = await self.db(self.journal.begin, live.ask, now=self.clock())

        async with self.agent.post(live.ask.body, headers=headers, query=query, arm=arm) as answer:
            live.head.set_result((answer.status, answer.headers))
            cut = None
            try:
                await self._listen(live, read, answer)
            except Broken as problem:
                cut = str(problem)
                log.warning("%s", problem)
            read.close(cut=cut)
            return reading.conclude(read, status=answer.status, retry_after=bool(answer.header(b"retry-after")))

    async def _listen(self, live: Live, read: Listener, answer: Answer) -> None:
        size = 0
        async with aclosing(answer.body) as body:
            while (part := await self._next(body, read)) is not None:
                size += len(part)
                await live.store(part, synced=any(word in part for word in ENDS))
                if answer.is_stream:
                    read.feed(part)
                if read.full or size > self.bounds.stream:
                    raise Broken("The answer is longer than this guard reads.")

    async def _next(self, body: Any, read: Listener) -> bytes | None:
        """The next part; None at the end, which is also a silence after the end of the run."""
        coming: Awaitable[bytes | None] = anext(body, None)
        if not read.ended:
            return await coming
        try:
            return await asyncio.wait_for(coming, TRAILING_SECONDS)
        except TimeoutError:
            return None

    async def _conclude(self, live: Live, read: Listener, end: Conclusion | None) -> None:
        if live.run is None:
            return  # nothing was sent, and nothing is on record
        if end is None:
            read.close(cut="The connection to the agent was lost.")
            end = reading.conclude(read, status=200 if live.head.done() and not live.head.exception() else None)
        self._owed.setdefault(live.ask.key, {})[live.run] = end
        await self._write_down(live.ask.key)

    async def _write_down(self, key: str) -> None:
        """How the runs of this thread ended, each once, whoever asks for it and however soon they go away again.

        Raises sqlite3.Error; what is not on record then is still owed.
        """
        if key in self._owed:
            await asyncio.shield(self._pay(key))

    async def _pay(self, key: str) -> None:
        async with self._writing:
            owed = self._owed.get(key, {})
            while owed:
                run, end = next(iter(owed.items()))
                await self.db(self.journal.conclude, run, end)
                del owed[run]
            self._owed.pop(key, None)

    async def _repay(self) -> None:
        """Until the file can be written again: what is owed does not wait until somebody asks for its thread."""
        while self._owed:
            await asyncio.sleep(REPAY_SECONDS)
            try:
                for key in list(self._owed):
                    await self._write_down(key)
            except sqlite3.Error as problem:
                log.debug("Not yet: %s", problem)
        log.info("How every run ended is written down.")

    async def heard(self, source: Live | Replay) -> None:
        """Somebody received all of it: what was refused may be tried again, and an ordinary run needs no record."""
        if isinstance(source, Replay):
            await self._noted(self.journal.hear, source.past.pk)
        elif source.run is not None and source.ask.resume is not None:
            await self._noted(self.journal.hear, source.run)

    async def left(self, source: Live | Replay) -> None:
        """One listener less. The stream of an ordinary run is dropped with the last one."""
        if isinstance(source, Live) and source.run is not None and source.over.is_set() and not source.followers:
            await self._noted(self.journal.drop_parts, source.run)

    async def tend(self) -> None:
        """For ever: forget what is old."""
        while True:
            await self._noted(self.journal.prune, now=self.clock(), keep=self.bounds.keep)
            await asyncio.sleep(PRUNE_SECONDS)

    async def _noted(self, deed: Callable[..., Any], *args: Any, **named: Any) -> None:
        """What nothing depends on: undone, something is told once more, or kept for longer."""
        try:
            await self.db(deed, *args, **named)
        except sqlite3.Error as problem:
            log.warning("The state file cannot be tidied: %s", problem)


def recover(journal: Journal, *, limit: int) -> int:
    """After a crash: conclude the runs that were cut off by it from what is on record of them. How many."""
    cut = journal.unfinished()
    for run in cut:
        read = reading.Listener(thread_id=run.thread_id, run_id=run.run_id, limit=limit)
        told = 0
        while parts := journal.parts(run.pk, told):
            told += len(parts)
            for part in parts:
                read.feed(part)
        read.close(cut="The guard was stopped while the agent answered.")
        journal.conclude(run.pk, reading.conclude(read, status=200 if told else None))
        journal.drop_parts(run.pk)
    return len(cut)

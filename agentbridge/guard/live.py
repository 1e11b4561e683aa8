"""A run that is being read from the agent. Everybody who asked for it, the first one too, follows the record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Protocol

from agentbridge.guard.agent import Headers
from agentbridge.guard.asking import Ask
from agentbridge.guard.entries import same
from agentbridge.guard.frames import Retelling
from agentbridge.guard.journal import Journal
from agentbridge.guard.refusals import ANSWERED, DOUBT, IN_DOUBT, run_error
from agentbridge.guard.rules import DOUBT as IS_DOUBT
from agentbridge.guard.rules import Past

Head = tuple[int, Headers]
GONE = "These answers were taken; how the run ended is not on record here."


class Database(Protocol):
    """Runs a function of the journal in the journal's thread."""

    async def __call__(self, deed: Callable[..., Any], *args: Any, **named: Any) -> Any: ...


class Live:
    """`head` is the agent's, or raises; `over` is set when the run is concluded."""

    def __init__(self, ask: Ask, journal: Journal, db: Database) -> None:
        self.ask, self.journal, self.db = ask, journal, db
        self.head: asyncio.Future[Head] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()
        self.run: int | None = None  # its number in the journal, once bytes may have left
        self.stored = 0
        self.followers = 0
        self._newest = b""
        self._news = asyncio.Event()

    def answers(self, ask: Ask) -> bool:
        """Is this the same question to the agent, asked again?"""
        return self.ask.resume is not None and ask.resume is not None and same(self.ask.entries, ask.entries)

    async def store(self, data: bytes, *, synced: bool) -> None:
        await self.db(self.journal.append, self.run, self.stored, data, synced=synced)
        self.stored, self._newest = self.stored + 1, data
        self._wake()

    def end(self) -> None:
        self.over.set()
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def follow(self, run_id: str) -> AsyncGenerator[bytes, None]:
        """From the first byte to the last, under the id that is asked with. A stream that broke off breaks off here."""
        retelling = Retelling(was=self.ask.run_id, now=run_id) if run_id != self.ask.run_id else None
        told = 0
        while True:
            news = self._news
            for part in await self._parts(told):
                told += 1
                yield part if retelling is None else retelling.feed(part)
            if told < self.stored:
                continue
            if self.over.is_set():
                break
            await news.wait()
        if retelling is not None:
            yield retelling.close()

    async def _parts(self, told: int) -> list[bytes]:
        if told == self.stored:
            return []
        if told == self.stored - 1:
            return [self._newest]
        found: list[bytes] = await self.db(self.journal.parts, self.run, told)
        return found


class Replay:
    """What the agent said to these answers then; and what is not known, by name."""

    def __init__(self, past: Past, journal: Journal, db: Callable[..., Awaitable[Any]]) -> None:
        self.past, self.journal, self.db = past, journal, db

    async def follow(self, run_id: str) -> AsyncGenerator[bytes, None]:
        retelling = Retelling(was=self.past.run_id, now=run_id)
        told = 0
        while parts := await self.db(self.journal.parts, self.past.pk, told):
            told += len(parts)
            yield retelling.feed(b"".join(parts))
        if told and await self.db(self.journal.is_ended, self.past.pk):
            yield retelling.close()
        else:
            yield run_error(IN_DOUBT, DOUBT) if self.past.state == IS_DOUBT else run_error(ANSWERED, GONE)

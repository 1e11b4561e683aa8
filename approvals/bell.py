"""Rings when the trail may have grown, so that nobody has to wait for the next poll. A hint and nothing more.

PostgreSQL tells it by NOTIFY, which `audit.record` sends with the chain lock; on SQLite every commit moves the
write-ahead log or, where the last connection closes behind it, the database itself, and looking at the times of files
costs less than a query. It may ring for nothing, and a ring may be lost
with a connection: whoever waits has a poll of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any

import psycopg
import structlog
from django.db import connection

CHANNEL = "trail"
LOOK_SECONDS = 0.01  # between two looks at a file
APART_SECONDS = 0.02  # between two rings that are heard: a busy desk must not be asked all the time
BLIND_SECONDS = 0.05  # between two rings while nothing can be heard: then it is a clock
AGAIN_SECONDS = 5.0  # between two tries to hear again

log = structlog.get_logger(__name__)


class Bell:
    """`async with Bell() as bell: await bell.wait(0.5)`. One in each process that waits, in its event loop."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self._heard_at = 0.0
        self._listening: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Bell:
        self._listening = asyncio.create_task(self._listen())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)

    def ring(self) -> None:
        """Also by hand, for news that are not in the trail."""
        self._rung.set()

    async def wait(self, seconds: float) -> bool:
        """Until it rings, or so long. A ring from before is heard at once, and once."""
        try:
            await asyncio.wait_for(self._rung.wait(), seconds)
        except TimeoutError:
            return False
        await asyncio.sleep(max(0.0, self._heard_at + APART_SECONDS - monotonic()))
        self._rung.clear()
        self._heard_at = monotonic()
        return True

    async def _listen(self) -> None:
        if connection.vendor == "postgresql":
            while True:
                await self._hear_notices()
                await self._tick(AGAIN_SECONDS)
        if files := moved_by_commits():
            await self._watch(files)
        while True:
            await self._tick(AGAIN_SECONDS)

    async def _watch(self, files: Sequence[Path]) -> None:
        before = seen = [moved(file) for file in files]
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            found = [moved(file) for file in files]
            # Once more at the next look: the first may have come in the middle of a commit.
            if found != seen or seen != before:
                self.ring()
            before, seen = seen, found

    async def _hear_notices(self) -> None:
        """Until the connection breaks; none is as good as a broken one."""
        try:
            async with await psycopg.AsyncConnection.connect(**address(), autocommit=True) as heard:
                await heard.execute(f"LISTEN {CHANNEL}")
                self.ring()  # what was said before
                async for _notice in heard.notifies():
                    self.ring()
        except (psycopg.Error, OSError) as trouble:
            log.info("bell.deaf", trouble=type(trouble).__name__)

    async def _tick(self, seconds: float) -> None:
        for _ in range(int(seconds / BLIND_SECONDS)):
            self.ring()
            await asyncio.sleep(BLIND_SECONDS)


def address() -> dict[str, Any]:
    """Where Django connects to, without what only its own cursors understand."""
    django_only = {"cursor_factory", "context", "prepare_threshold"}
    return {name: value for name, value in connection.get_connection_params().items() if name not in django_only}


def moved_by_commits() -> list[Path]:
    """The write-ahead log of SQLite, and the database, which alone is left when its only writer has gone.

    Empty for a database that is in no file.
    """
    name = str(connection.settings_dict["NAME"])
    return [] if ":memory:" in name or "mode=memory" in name else [Path(f"{name}-wal"), Path(name)]


def moved(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)

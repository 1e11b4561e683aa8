"""Database work for asynchronous code: short functions in a few threads of their own."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError, close_old_connections, connection, connections

SHUT = (OperationalError, InterfaceError)  # trouble of the whole database
EVERYBODYS = (*SHUT, MemoryError)  # of the whole machine, not of one row
PATIENCE_SECONDS = 60.0  # a restart, a backup that locks the file, a disk that is full for a moment
PAUSE_SECONDS = 0.5
log = structlog.get_logger(__name__)


class DatabaseThreads:
    """`await db(function, …)`: runs it in a database thread and hands out what it returns or raises."""

    def __init__(self, threads: int = 4, *, keep: bool = False) -> None:
        """`keep`: deeds that go on in the next one, such as a cursor's, need their connection until `close`."""
        self._deed = _plain if keep else _clean
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="database")

    async def __call__(self, deed: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        work = functools.partial(self._deed, deed, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def surely(self, deed: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The same, and trouble of the whole database is waited out. Only for deeds that may be tried again.

        One that ran out of memory is none: what it was reading is half read. It is read anew from the record.
        """
        end = monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return await self(deed, *args, **kwargs)
            except SHUT:
                if monotonic() >= end:
                    raise
                log.exception("database.in_trouble", deed=getattr(deed, "__name__", ""))
            await asyncio.sleep(PAUSE_SECONDS)

    async def close(self) -> None:
        """Give every thread's connection back and end the threads."""
        loop = asyncio.get_running_loop()
        count = len(self._threads._threads)
        await asyncio.gather(*(loop.run_in_executor(self._threads, connections.close_all) for _ in range(count)))
        self._threads.shutdown(wait=True)


def _plain(deed: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return deed(*args, **kwargs)


def _clean(deed: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A pooled connection goes back after each deed; SQLite keeps its own: opening one costs more than most deeds."""
    try:
        return deed(*args, **kwargs)
    finally:
        if connection.vendor != "sqlite":
            close_old_connections()
        elif connection.errors_occurred:
            connection.close()


def need_not_wait() -> None:
    """This transaction is over when the operating system has it: `kill -9` loses nothing of it, a power cut may.

    For deeds of which nobody is told that they are on record. On PostgreSQL it waits like any other: there a server
    that is killed would lose it.
    """
    if connection.vendor == "sqlite":
        connection.waits_for_disk = False  # type: ignore[attr-defined] # of `config.sqlite`

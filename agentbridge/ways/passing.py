"""What is on its way to one caller: in order, bounded, and dropped once nobody takes it any more.

The recording never waits for a caller. One who takes nothing while an agent talks on is cut off where it stands:
nothing is left out in between, and everything is on record (`…/threads/<id>/events`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence

from agentbridge.net.extension import Write


class Passage:
    """Between an agent's answer and its one listener."""

    def __init__(self, *, limit: int) -> None:
        """`limit`: bytes that may wait for the listener."""
        self.write: Write | None = None  # the shorter way to the listener
        self.overrun = False  # the listener was cut off
        self._limit, self._waiting = limit, 0
        self._parts: deque[bytes] = deque()
        self._excused = 0  # of what waits, the bytes that came too late for anybody to have taken them
        self._news = asyncio.Event()
        self._over = self._left = False
        self._resting = False  # the listener has everything
        self._listener: asyncio.Task[object] | None = None

    def add(self, part: bytes) -> None:
        if self._left or self._taken(part):
            return
        self._parts.append(part)
        self._waiting += len(part)
        self._news.set()
        if self._waiting - self._excused > self._limit:
            self._cut()

    def catch_up(self, parts: Sequence[bytes]) -> None:
        """What the record held back. Its listener could take none of it, so its size alone cuts nobody off.

        Somebody who had left too much lying before is given no more room: twice the limit and one such delay wait.
        """
        patient = self._waiting <= self._limit
        if patient:
            self._excused = self._waiting + sum(map(len, parts))
        for part in parts:
            self.add(part)
        if patient:
            self._excused = self._waiting

    def _taken(self, part: bytes) -> bool:
        """At once, where nothing is on its way before it."""
        return self._resting and not self._parts and self.write is not None and self.write(part)

    def finish(self) -> None:
        self._over = True
        self._news.set()

    def _cut(self) -> None:
        """The listener may be waiting for its socket, which says nothing: it is woken."""
        self.overrun = True
        self._leave()
        if self._listener is not None:
            self._listener.cancel()

    def _leave(self) -> None:
        self._left = True
        self._parts.clear()
        self._waiting = 0

    async def parts(self) -> AsyncIterator[bytes]:
        """To the end. Leaving it early changes nothing for the recording."""
        self._listener = asyncio.current_task()
        try:
            while not self.overrun:
                while self._parts:
                    part = self._parts.popleft()
                    self._waiting -= len(part)
                    self._excused = max(0, self._excused - len(part))
                    yield part
                if self._over:
                    return
                self._news.clear()
                self._resting = True
                await self._news.wait()
                self._resting = False
            raise ConnectionAbortedError  # before the listener was there to be woken
        finally:
            self._listener, self._resting = None, False
            self._leave()

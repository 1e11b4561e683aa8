"""A lock that threads get in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque


class Line:
    """Python's own lock goes to whoever asks at the right moment: with many at it, some wait several turns over."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_taken = False
        self._places: deque[threading.Lock] = deque()  # each held until its turn comes

    def __len__(self) -> int:
        """How many wait."""
        return len(self._places)

    def acquire(self, *, timeout: float) -> bool:
        """True when the turn came within `timeout` seconds."""
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return True
            place = threading.Lock()
            place.acquire()
            self._places.append(place)
        try:
            return place.acquire(timeout=timeout) or not self._leave(place)
        except BaseException:  # of a signal while it waited
            if not self._leave(place):
                self.release()
            raise

    def release(self) -> None:
        with self._guard:
            if self._places:
                self._places.popleft().release()  # still taken: handed to whoever came first
            else:
                self._is_taken = False

    def _leave(self, place: threading.Lock) -> bool:
        """False when the turn came in this very moment."""
        with self._guard:
            if place not in self._places:
                return False
            self._places.remove(place)
            return True

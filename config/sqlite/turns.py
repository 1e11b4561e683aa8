"""Writers of one SQLite file take turns: one at a time over all threads and processes of this machine.

SQLite itself only polls when another writer is at work, gives up under load, and has a known fault when two
connections write and checkpoint a write-ahead log at the same moment. Readers never come here.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from functools import cache
from pathlib import Path

from django.db.utils import OperationalError

from config.sqlite.line import Line

POLL_SECONDS = 0.002


class Turns:
    """The queue before one lock file. Threads wait in a line in memory, so that only one per process polls the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._threads = Line()
        self._file: int | None = None

    def take(self, *, timeout: float) -> None:
        """Wait for the turn. Raises OperationalError, as SQLite does: not in time, or no file can be opened."""
        deadline = time.monotonic() + timeout
        if not self._threads.acquire(timeout=max(timeout, 0)):
            raise OperationalError("database is locked: another thread kept its turn to write for too long")
        try:
            self._file = self._lock_file(deadline)
        except BaseException:
            self._threads.release()
            raise

    def give_back(self) -> None:
        if self._file is not None:
            os.close(self._file)  # closing unlocks; so does dying
            self._file = None
        self._threads.release()

    def _lock_file(self, deadline: float) -> int:
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as trouble:  # of the machine, not of the row that was to be written
            raise OperationalError(f"unable to open the lock of the database file: {trouble}") from trouble
        try:
            while not _locks(file):
                if time.monotonic() >= deadline:
                    raise OperationalError("database is locked: another process kept its turn to write for too long")
                time.sleep(POLL_SECONDS)
        except BaseException:
            os.close(file)
            raise
        return file


def _locks(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_all: dict[Path, Turns] = {}
_all_lock = threading.Lock()


@cache  # resolving a path costs more than taking the turn
def turns_for(database: str) -> Turns:
    """The one queue of this process for a database file."""
    path = Path(f"{Path(database).resolve()}.lock")
    with _all_lock:
        return _all.setdefault(path, Turns(path))

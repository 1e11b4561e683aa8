"""A commit waits for the disk after its writer has given the turn back.

`synchronous = FULL` makes SQLite wait inside the commit: for these milliseconds nobody else may write. With `NORMAL` it
hands the commit to the operating system and goes on; the waiting is done here, by whoever committed, before anybody is
told that it is so. Writers wait side by side, and one write of the disk serves them all.

What a reader sees a moment before it is on the disk can only be lost together with all that came after it: the log is
written in order, and a later commit that has reached the disk has taken the earlier ones along.
"""

from __future__ import annotations

import logging
import os
import threading
from functools import cache

from django.db.utils import OperationalError

log = logging.getLogger("config.sqlite.disk")


def reach(database: str) -> None:
    """Return when all commits so far are on the disk. Raises OperationalError where they cannot be."""
    try:
        log = os.open(f"{database}-wal", os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fdatasync(log)
        finally:
            os.close(log)
    except FileNotFoundError:  # moved into the database file, which SQLite does not do before both are on the disk
        return
    except OSError as trouble:  # of the machine, also where it has no file left to open: not of what was written
        raise OperationalError(f"disk I/O error: {trouble}") from trouble


def reach_soon(database: str) -> None:
    """Return at once; the commits so far are on their way to the disk."""
    _courier(database, os.getpid()).set()


@cache
def _courier(database: str, _pid: int) -> threading.Event:
    """Wakes the thread that waits for the disk in this process; a forked one has none yet."""
    asked = threading.Event()

    def carry() -> None:
        while asked.wait():
            asked.clear()
            try:
                reach(database)
            except OperationalError:
                log.exception("What was committed may not be on the disk.")

    threading.Thread(target=carry, name="disk", daemon=True).start()
    return asked

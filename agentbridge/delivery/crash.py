"""A switch for tests: end the process as `kill -9` would, at a named step. Inert without `CRASH_AT`."""

from __future__ import annotations

import os
import signal

NAME = os.environ.get("CRASH_AT", "")


def point(name: str) -> None:
    """One step between two commits; the names are the rows of `delivery.md` C.6."""
    if name == NAME:
        os.kill(os.getpid(), signal.SIGKILL)

"""Waiting in tests: for a state, never for a time. How fast or slow the machine is decides nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 60.0  # seconds; a wait that ends early costs nothing, one that gives up too soon fails by chance
Found = TypeVar("Found")


def until(holds: Callable[[], Found], what: str = "it") -> Found:
    """Look again and again until there is something to see; what was found."""
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < end, f"{what} did not happen within {PATIENCE:.0f} s"
        time.sleep(0.01)
    return found

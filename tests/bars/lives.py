"""Runs the machine of R-29 so many times."""

from __future__ import annotations

import os

from django.db import connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.bars.machine import Desk, furnish

# At the size of every push half of the lives are in each of two files, which two processes share; the seeds are fixed.
LIVES, STEPS = (int(os.environ.get(name, size)) for name, size in (("BAR_LIVES", "150"), ("BAR_STEPS", "60")))


def share() -> int:
    """A third of them on PostgreSQL: what is tried is the order of events, and there each takes twice as long."""
    return LIVES if connection.vendor == "sqlite" else LIVES // 3


def live(*, examples: int, steps: int, start: int) -> None:
    """Each life is undone at its end; a failing one is printed as the steps that led there. `start` is the seed."""
    size = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, print_blob=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    with transaction.atomic():
        Desk.furniture = furnish(timezone.now())
        try:
            run_state_machine_as_test(seed(start)(Desk), settings=size)
        finally:
            transaction.set_rollback(True)

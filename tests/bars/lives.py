"""Runs the machine of R-29 so many times."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.bars.machine import Desk


def live(*, examples: int, steps: int) -> None:
    """Each life is undone at its end; a failing one is printed as the steps that led there."""
    size = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, print_blob=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(Desk, settings=size)

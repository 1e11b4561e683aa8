"""`kill -9` of the guard at any moment: I1 to I7, from what the agent did and what the clients saw.

`make soak ARGS=w03` plays the bar whole.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

from tests.agentbridge.guard import killing


@pytest.fixture
def seed() -> int:
    chosen = int(os.environ.get("BAR_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
    sys.stdout.write(f"BAR_SEED={chosen}\n")
    return chosen


@pytest.mark.slow
@pytest.mark.timeout(900)  # as many starts of a process as there are rounds
def test_killed_at_random_no_answer_is_lost_or_run_twice(tmp_path: Path, seed: int) -> None:
    killing.killed_at_random(tmp_path, seed=seed, rounds=20)

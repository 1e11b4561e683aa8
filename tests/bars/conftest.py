"""A crew on the database of the tests; the seed is printed, and `BAR_SEED` plays the same again."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.bars.crew import Crew

MakeCrew = Callable[..., Crew]


@pytest.fixture
def seed() -> int:
    chosen = int(os.environ.get("BAR_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
    sys.stdout.write(f"BAR_SEED={chosen}\n")
    return chosen


@pytest.fixture
def crew_of(transactional_db: None, tmp_path: Path, seed: int) -> Iterator[MakeCrew]:
    """`crew_of(LEASE_SECONDS=1)`: with other waits than the usual ones of a bar."""
    with ExitStack() as stack:

        def make(**conditions: Any) -> Crew:
            return stack.enter_context(Crew(tmp_path, seed=seed, **conditions))

        yield make

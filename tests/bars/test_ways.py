"""The other ways in, killed at the size of every push; `make soak` kills them two hundred times each."""

from __future__ import annotations

import pytest

from tests.bars import ways
from tests.bars.conftest import MakeCrew

pytestmark = pytest.mark.timeout(900)


def test_whoever_saw_a_pause_through_a_killed_relay_finds_its_case(crew_of: MakeCrew) -> None:
    ways.relay_killed(crew_of(LEASE_SECONDS=2), rounds=8)


def test_a_killed_connector_gives_no_answer_twice_and_loses_none(crew_of: MakeCrew) -> None:
    ways.connector_killed(crew_of(LEASE_SECONDS=2), rounds=12)

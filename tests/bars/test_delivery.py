"""The delivery bars at the size of every push (`docs/bars.md`); `make soak` plays them whole."""

from __future__ import annotations

import pytest

from tests.bars import behaviours, crashing, plays, rereading, together, web
from tests.bars.conftest import MakeCrew

pytestmark = pytest.mark.timeout(900)


def test_r01_killed_workers_lose_and_double_nothing(crew_of: MakeCrew) -> None:
    crew = crew_of(LEASE_SECONDS=1, FIRST_EVENT_SECONDS=2, IDLE_SECONDS=2)
    plays.storm(crew, deliveries=100)
    assert crew.kills >= 5


def test_r02_a_killed_web_process_loses_no_decision(crew_of: MakeCrew) -> None:
    web.killed(crew_of(), decisions=100, kills=2)


def test_r03_every_crash_ends_as_the_table_says(crew_of: MakeCrew) -> None:
    crashing.crashes(crew_of(WORKER_STREAMS=1), times=5)


@pytest.mark.parametrize("at", ["claimed", "armed"])
def test_r05_a_worker_that_wakes_after_its_lease_sends_nothing_twice(crew_of: MakeCrew, at: str) -> None:
    crashing.stopped(crew_of(FIRST_EVENT_SECONDS=1), times=5, at=at)


def test_r06_a_lost_answer_is_doubt_with_one_body(crew_of: MakeCrew) -> None:
    plays.lost_answers(crew_of(), times=20)


def test_r06_a_proven_agent_is_asked_again_with_the_same_bytes(crew_of: MakeCrew) -> None:
    plays.proven_agent(crew_of(), times=20)


def test_r10_an_agent_that_comes_back_gets_everything(crew_of: MakeCrew) -> None:
    plays.no_stampede(crew_of(), deliveries=10, down=1)


def test_r11_retry_after_is_kept_to(crew_of: MakeCrew) -> None:
    plays.patient(crew_of(), times=5)


def test_r12_a_redirect_is_never_followed(crew_of: MakeCrew) -> None:
    plays.redirected(crew_of(), times=10)


@pytest.mark.timeout(1800)
def test_r13_every_behaviour_ends_as_the_table_says(crew_of: MakeCrew) -> None:
    behaviours.behaviours(crew_of(IDLE_SECONDS=8, RUN_SECONDS=20), times=2)


def test_r14_a_resend_carries_the_first_bytes_and_never_meets_another_question(crew_of: MakeCrew) -> None:
    plays.resent(crew_of(), times=5)


def test_r15_nothing_arrives_at_a_new_address_unasked(crew_of: MakeCrew) -> None:
    plays.moved_house(crew_of(), times=5)


def test_r27_three_answers_leave_together_in_time_or_not_at_all(crew_of: MakeCrew) -> None:
    together.partly_expired(crew_of(), times=20)


def test_r28_one_pause_pushed_ten_times_at_once_is_one_case(crew_of: MakeCrew) -> None:
    together.pushed_at_once(crew_of(), times=10)


def test_r28_one_pause_read_ten_times_at_once_is_one_case(crew_of: MakeCrew) -> None:
    rereading.read_at_once(crew_of(), times=10)

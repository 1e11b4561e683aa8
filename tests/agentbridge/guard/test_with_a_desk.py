"""A desk that takes its agent for guarded: it sends again by itself, and stops where the guard does not know either."""

from __future__ import annotations

import pytest

from approvals.models import User
from tests.agentbridge.guard.conftest import Before
from tests.bridge_work import delivery, due_again, paused_case, quick, register, work, work_until_it_rests
from tests.people import decide, only_task
from tests.scripted_agent import RESET, Answer, failed, finishing, pausing, started

__all__ = ["quick"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


def delivered(door, alice: User):
    """An approval on its way through the guard, until nothing moves by itself any more."""
    case = paused_case(register(door.agent, url=door.url + "/agent", replay="guarded"), alice)
    decide(only_task(case), alice)
    work_until_it_rests()
    return delivery(case)


def test_a_yes_goes_through(before: Before, alice: User) -> None:
    assert delivered(before(pausing(), finishing()), alice).state == "finished"


def test_a_reset_before_the_run_began_is_asked_about_once_and_then_left_to_a_person(
    before: Before, alice: User
) -> None:
    door = before(pausing(), Answer([RESET], head=False), finishing())
    resume = delivered(door, alice)
    assert (resume.state, len(door.agent.posts)) == ("in_doubt", 2)
    assert "settle it at the guard" in resume.note


def test_a_reset_on_the_way_is_asked_about_later_and_then_left_to_a_person(before: Before, alice: User) -> None:
    door = before(pausing(), Answer([started(), RESET]), finishing())
    resume = delivered(door, alice)
    assert resume.state == "ready"  # for when a run of this length must be over
    due_again()
    work()
    resume.refresh_from_db()
    assert (resume.state, len(door.agent.posts)) == ("outcome_unknown", 2)


def test_what_the_agent_refuses_the_desk_hears(before: Before, alice: User) -> None:
    door = before(pausing(), Answer([started(), failed("closed on Sundays", "CLOSED")]))
    resume = delivered(door, alice)
    assert resume.state == "agent_error" and "closed on Sundays" in resume.note

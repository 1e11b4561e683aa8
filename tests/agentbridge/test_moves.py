"""The state table, walked through: no way in that the design does not know, no state without a way out."""

from __future__ import annotations

import pytest
from django.utils import timezone

from agentbridge.delivery.moves import MOVES, IllegalMove, Lost, move
from agentbridge.models import DeliveryState, Resume
from agentbridge.models.delivery import FINAL, WAITING
from approvals.models import AuditEntry
from tests import bridge_rows
from tests.people import OpenCase


def reachable(start: str, without: str = "") -> set[str]:
    found, waiting = {start}, [start]
    while waiting:
        for state in MOVES[waiting.pop()] - found - {without}:
            found.add(state)
            waiting.append(state)
    return found


def test_every_state_is_in_the_table_and_can_be_reached() -> None:
    assert set(MOVES) == set(DeliveryState.values)
    assert reachable(DeliveryState.READY) == set(DeliveryState.values)


def test_only_ends_have_no_way_out() -> None:
    assert {state for state, following in MOVES.items() if not following} == set(FINAL)


def test_a_person_can_end_whatever_waits_for_one() -> None:
    for state in WAITING:
        assert {DeliveryState.READY, DeliveryState.ABANDONED} <= MOVES[state]


@pytest.mark.parametrize("state", ["in_doubt", "accepted", "finished", "rejected", "agent_error", "outcome_unknown"])
def test_what_an_agent_did_comes_only_after_arming(state: str) -> None:
    assert state not in reachable(DeliveryState.READY, without=DeliveryState.ARMED)


def test_nothing_armed_is_ever_called_unsent() -> None:
    for state in (DeliveryState.ARMED, DeliveryState.ACCEPTED, DeliveryState.IN_DOUBT):
        assert DeliveryState.EXPIRED_UNSENT not in MOVES[state]


@pytest.fixture
def resume(open_case: OpenCase) -> Resume:
    case = open_case()
    agent = bridge_rows.add_agent(case.tasks.get().queue)
    return bridge_rows.seal(case, bridge_rows.add_run(agent), state="ready")


def test_a_step_writes_its_entry(resume: Resume) -> None:
    move(resume, DeliveryState.LEASED, sentence="A worker took it.", now=timezone.now(), fence=1)
    entry = AuditEntry.objects.latest("seq")
    assert (entry.verb, entry.sentence, entry.case_id) == ("delivery.leased", "A worker took it.", resume.case_id)
    resume.refresh_from_db()
    assert (resume.state, resume.fence) == ("leased", 1)


def test_a_step_that_is_not_in_the_table_is_refused(resume: Resume) -> None:
    with pytest.raises(IllegalMove):
        move(resume, DeliveryState.FINISHED, sentence="no", now=timezone.now())


def test_of_two_steps_from_one_state_the_second_is_lost_and_writes_nothing(resume: Resume) -> None:
    other = Resume.objects.get(pk=resume.pk)
    move(resume, DeliveryState.LEASED, sentence="first", now=timezone.now(), fence=1)
    entries = AuditEntry.objects.count()
    with pytest.raises(Lost):
        move(other, DeliveryState.LEASED, sentence="second", now=timezone.now(), fence=1)
    assert AuditEntry.objects.count() == entries


def test_a_worker_with_an_old_fence_changes_nothing(resume: Resume) -> None:
    move(resume, DeliveryState.LEASED, sentence="mine", now=timezone.now(), fence=1)
    Resume.objects.filter(pk=resume.pk).update(fence=2)
    with pytest.raises(Lost):
        move(resume, DeliveryState.ARMED, sentence="late", now=timezone.now())



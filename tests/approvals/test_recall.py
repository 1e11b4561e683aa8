"""A decision is its author's until the case is taken."""

from __future__ import annotations

import pytest
from django.utils import timezone

from approvals import people, reviewing
from approvals.models import Decision
from approvals.models.people import Role
from tests.people import decide, in_seconds, only_task, verbs


def test_author_takes_a_decision_back(alice, bob, task):
    decision = decide(task, alice)
    reviewing.recall(task.case, by=alice, now=timezone.now())

    task.refresh_from_db()
    decision.refresh_from_db()
    assert (task.state, task.case.state, task.case.deliver_after) == ("open", "open", None)
    assert decision.recalled_at is not None
    assert decide(task, bob, "rejected").verdict == "rejected"
    assert Decision.objects.filter(task=task).count() == 2


@pytest.mark.parametrize("name", ["carol", "adam"])
def test_those_who_never_decide_take_nothing_back(request, name, task):
    with pytest.raises(reviewing.NotAllowed):
        reviewing.recall(task.case, by=request.getfixturevalue(name), now=timezone.now())


def test_nobody_else_takes_it_back(alice, bob, olga, task):
    decide(task, alice)

    for other in (bob, olga):
        with pytest.raises(reviewing.NotAllowed):
            reviewing.recall(task.case, by=other, now=timezone.now())


def test_recall_of_a_case_takes_back_only_ones_own(alice, bob, open_case):
    case = open_case(2)
    first, second = case.tasks.order_by("position")
    decide(first, alice)
    decide(second, bob)
    reviewing.recall(case, by=alice, now=timezone.now())

    assert [task.state for task in case.tasks.order_by("position")] == ["open", "settled"]
    assert verbs(case)[-1] == "case.recalled"


def test_one_task_of_several_is_recalled(alice, open_case):
    case = open_case(2)
    first, second = case.tasks.order_by("position")
    decide(first, alice)
    decide(second, alice)
    reviewing.recall(case, by=alice, task=second, now=timezone.now())

    assert [task.state for task in case.tasks.order_by("position")] == ["settled", "open"]


def test_taken_case_is_final(alice, task, settings):
    settings.UNDO_SECONDS = 0
    decide(task, alice)
    reviewing.take(task.case, now=timezone.now())

    with pytest.raises(reviewing.Taken):
        reviewing.recall(task.case, by=alice, now=timezone.now())


def test_decisions_of_an_expired_case_stay(alice, open_case):
    task = only_task(open_case(deadline=in_seconds(60)))
    decide(task, alice)

    with pytest.raises(reviewing.Expired):
        reviewing.recall(task.case, by=alice, now=in_seconds(60))


def test_nothing_to_take_back(alice, task):
    with pytest.raises(reviewing.WrongState):
        reviewing.recall(task.case, by=alice, now=timezone.now())


def test_former_reviewer_takes_nothing_back(alice, task):
    decide(task, alice)
    people.set_user("alice", role=Role.AUDITOR, now=timezone.now())

    with pytest.raises(reviewing.NotAllowed):
        reviewing.recall(task.case, by=alice, now=timezone.now())

"""Claiming shows who is on a task; it locks nobody out of deciding."""

from __future__ import annotations

import pytest
from django.utils import timezone

from approvals import reviewing
from tests.people import decide, in_seconds, only_task, verbs


def test_claim_and_release_are_in_the_trail(alice, task):
    reviewing.claim(task, by=alice, now=timezone.now())
    task.refresh_from_db()
    assert task.claimed_by == alice

    reviewing.release(task, by=alice, now=timezone.now())
    task.refresh_from_db()
    assert task.claimed_by is None
    assert verbs(task.case)[2:] == ["task.claimed", "task.released"]


def test_second_claim_hears_who_is_on_it(alice, bob, task):
    reviewing.claim(task, by=alice, now=timezone.now())

    with pytest.raises(reviewing.WrongState, match="alice"):
        reviewing.claim(task, by=bob, now=timezone.now())


def test_claiming_what_is_yours_changes_nothing(alice, task):
    reviewing.claim(task, by=alice, now=timezone.now())
    reviewing.claim(task, by=alice, now=timezone.now())

    assert verbs(task.case).count("task.claimed") == 1


@pytest.mark.parametrize("name", ["charlie", "carol", "olga", "adam"])
def test_only_reviewers_of_the_queue_claim(request, task, name):
    with pytest.raises(reviewing.NotAllowed):
        reviewing.claim(task, by=request.getfixturevalue(name), now=timezone.now())


def test_only_holder_or_operator_releases(alice, bob, olga, task):
    reviewing.claim(task, by=alice, now=timezone.now())

    with pytest.raises(reviewing.NotAllowed):
        reviewing.release(task, by=bob, now=timezone.now())
    reviewing.release(task, by=olga, now=timezone.now())
    with pytest.raises(reviewing.WrongState):
        reviewing.release(task, by=alice, now=timezone.now())


@pytest.mark.parametrize("name", ["carol", "adam"])
def test_those_who_never_claim_release_nothing(request, name, task):
    with pytest.raises(reviewing.NotAllowed):
        reviewing.release(task, by=request.getfixturevalue(name), now=timezone.now())


def test_claim_is_no_lock(alice, bob, task):
    reviewing.claim(task, by=alice, now=timezone.now())
    decide(task, bob)

    task.refresh_from_db()
    assert task.claimed_by is None


def test_expired_task_cannot_be_claimed(alice, open_case):
    task = only_task(open_case(deadline=in_seconds(1)))

    with pytest.raises(reviewing.WrongState, match="expired"):
        reviewing.claim(task, by=alice, now=timezone.now())

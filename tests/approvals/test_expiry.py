"""One expired task expires its whole case: nothing is decided, nothing leaves by itself, what was decided stays."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import clock, reviewing
from approvals.models import Case, Task
from tests.people import decide, in_seconds, new_task, only_task


def test_last_moment_is_a_margin_before_the_deadline(alice, open_case, settings):
    settings.EXPIRY_MARGIN_SECONDS = 5
    deadline = in_seconds(60)
    task = only_task(open_case(deadline=deadline))

    with pytest.raises(reviewing.Expired):
        decide(task, alice, now=deadline - timedelta(seconds=5))
    decide(task, alice, now=deadline - timedelta(seconds=5.001))


def test_earliest_deadline_expires_all(alice, payments, open_case):
    case = open_case(tasks=[new_task(payments, 1, deadline=in_seconds(1)), new_task(payments, 2)])
    second = case.tasks.get(position=1)

    assert case.deadline is not None
    assert second.state_at(timezone.now()) == "expired"
    with pytest.raises(reviewing.Expired):
        decide(second, alice)
    assert not Task.objects.open(timezone.now()).exists()


def test_settled_case_past_its_deadline_is_not_due(alice, open_case, settings):
    settings.UNDO_SECONDS = 0
    task = only_task(open_case(deadline=in_seconds(60)))
    decide(task, alice)

    with pytest.raises(reviewing.NotDue):
        reviewing.take(task.case, now=in_seconds(56))
    assert Case.objects.expired(in_seconds(56)).get() == task.case


def test_sent_case_no_longer_expires(alice, open_case, settings):
    settings.UNDO_SECONDS = 0
    task = only_task(open_case(deadline=in_seconds(60)))
    decide(task, alice)
    reviewing.take(task.case, now=timezone.now())
    reviewing.mark_sent(task.case, now=timezone.now())

    task.case.refresh_from_db()
    assert task.case.state_at(in_seconds(100)) == "settled"


def test_taken_case_is_not_sent_too_late(alice, open_case, settings):
    settings.UNDO_SECONDS = 0
    task = only_task(open_case(deadline=in_seconds(60)))
    decide(task, alice)
    reviewing.take(task.case, now=timezone.now())

    with pytest.raises(reviewing.Expired):
        reviewing.mark_sent(task.case, now=in_seconds(56))


def test_no_deadline_never_expires(task):
    assert task.case.state_at(in_seconds(10**8)) == "open"


def test_waiting_for_a_lock_does_not_stop_time(db):
    long_ago = in_seconds(-100)

    assert clock.at_least(long_ago) > in_seconds(-10)

"""What was tried and refused stands on the trail; what was refused left nothing else behind."""

from __future__ import annotations

import pytest
from django.utils import timezone

from approvals import jsontext, reviewing
from approvals.models import AuditEntry
from approvals.refusals import Refused
from approvals.trail import verification
from tests.people import decide, in_seconds

pytestmark = pytest.mark.django_db(transaction=True)


def refused() -> list[tuple[str, str, str]]:
    told = AuditEntry.objects.filter(verb__endswith=".refused").order_by("seq")
    return [(entry.verb, str(entry.actor), jsontext.loads(entry.data)["code"]) for entry in told]


def test_a_second_decision_is_told_with_who_tried(alice, bob, task):
    decide(task, alice)
    with pytest.raises(Refused):
        decide(task, bob, "rejected")
    assert refused() == [("task.refused", "bob", "decided")]
    entry = AuditEntry.objects.latest("seq")
    assert entry.sentence == f"bob tried to decide {task.code}: refused, somebody had decided."
    assert verification.verify().findings == []


def test_whoever_may_not_decide_is_told(olga, task):
    with pytest.raises(Refused):
        decide(task, olga)
    assert refused() == [("task.refused", "olga", "not_allowed")]


def test_an_answer_that_does_not_fit_is_told(alice, task):
    with pytest.raises(Refused):
        decide(task, alice, input="[1")
    assert refused() == [("task.refused", "alice", "invalid")]


def test_a_late_decision_is_told(alice, open_case):
    task = open_case(deadline=in_seconds(60)).tasks.get()
    with pytest.raises(Refused):
        decide(task, alice, now=in_seconds(61))
    assert refused() == [("task.refused", "alice", "expired")]


def test_a_recall_of_somebody_elses_decision_is_told(alice, bob, task):
    decide(task, alice)
    with pytest.raises(Refused):
        reviewing.recall(task.case, by=bob, now=timezone.now())
    assert refused() == [("case.refused", "bob", "not_allowed")]

"""The settled case is the outbox row: taken once, when due, and ended in a named way."""

from __future__ import annotations

import pytest
from django.utils import timezone

from approvals import reviewing
from tests.people import decide, in_seconds, verbs


@pytest.fixture
def settled(alice, task, settings):
    settings.UNDO_SECONDS = 10
    decide(task, alice)
    task.case.refresh_from_db()
    return task.case


def test_case_is_taken_once_the_undo_window_is_over(settled):
    with pytest.raises(reviewing.NotDue):
        reviewing.take(settled, now=timezone.now())
    reviewing.take(settled, now=in_seconds(11))
    with pytest.raises(reviewing.NotDue):
        reviewing.take(settled, now=in_seconds(12))


def test_open_case_is_not_due(task):
    with pytest.raises(reviewing.NotDue):
        reviewing.take(task.case, now=in_seconds(100))


def test_way_of_a_delivered_case(settled):
    reviewing.take(settled, now=in_seconds(11))
    reviewing.mark_sent(settled, now=in_seconds(12))
    reviewing.mark_sent(settled, now=in_seconds(13))
    reviewing.mark_delivered(settled, now=in_seconds(14))

    settled.refresh_from_db()
    assert settled.state == "delivered"
    assert verbs(settled)[-3:] == ["case.taken", "case.sent", "case.delivered"]


def test_case_that_nobody_took_is_neither_sent_nor_delivered(settled):
    with pytest.raises(reviewing.WrongState):
        reviewing.mark_sent(settled, now=in_seconds(11))
    with pytest.raises(reviewing.WrongState):
        reviewing.mark_delivered(settled, now=in_seconds(11))


def test_blocked_case_waits_for_an_operator(settled, olga, alice):
    reviewing.block(settled, sentence="The agent's address changed.", now=timezone.now())
    with pytest.raises(reviewing.NotDue):
        reviewing.take(settled, now=in_seconds(11))
    with pytest.raises(reviewing.NotAllowed):
        reviewing.unblock(settled, by=alice, reason="fine", now=timezone.now())

    reviewing.unblock(settled, by=olga, reason="same host, new name", now=timezone.now())
    reviewing.take(settled, now=in_seconds(11))


def test_same_block_is_said_once(settled):
    for _ in range(2):
        reviewing.block(settled, sentence="no id", now=timezone.now())

    assert verbs(settled).count("case.blocked") == 1


def test_withdrawn_case_ends_with_its_tasks(settled):
    reviewing.withdraw(settled, because="superseded", now=timezone.now())

    settled.refresh_from_db()
    assert (settled.state, settled.ended_because, settled.tasks.get().state) == ("withdrawn", "superseded", "withdrawn")
    with pytest.raises(reviewing.WrongState):
        reviewing.withdraw(settled, because="abandoned", now=timezone.now())


def test_abandoning_needs_an_operator_with_a_reason(settled, alice, olga):
    with pytest.raises(reviewing.NotAllowed):
        reviewing.withdraw(settled, because="abandoned", by=alice, reason="why not", now=timezone.now())
    with pytest.raises(reviewing.Invalid):
        reviewing.withdraw(settled, because="abandoned", by=olga, reason=" ", now=timezone.now())

    reviewing.withdraw(settled, because="abandoned", by=olga, reason="agent is gone", now=timezone.now())
    assert "olga: agent is gone" in settled.entries.get(verb="case.withdrawn").sentence


def test_delivered_case_is_not_withdrawn(settled):
    reviewing.take(settled, now=in_seconds(11))
    reviewing.mark_delivered(settled, now=in_seconds(12))

    with pytest.raises(reviewing.WrongState):
        reviewing.withdraw(settled, because="superseded", now=in_seconds(13))


def test_accepted_case_can_be_answered(alice, olga, open_case):
    case = open_case(case={"quarantined": True})
    reviewing.accept(case, by=olga, reason="read the stream", now=timezone.now())

    decide(case.tasks.get(), alice)
    with pytest.raises(reviewing.WrongState):
        reviewing.accept(case, by=olga, reason="again", now=timezone.now())


def test_results_and_conclusions_stay_in_order(settled):
    task = settled.tasks.get()
    for text in ("first", "second \ud800"):
        reviewing.record_results(task, results=[{"runId": "r2", "text": text}], now=timezone.now())
    for _ in range(2):
        reviewing.conclude(task, sentence="executed as approved", now=timezone.now())

    task.refresh_from_db()
    assert task.results == '[{"runId":"r2","text":"first"},{"runId":"r2","text":"second \\ud800"}]'
    assert verbs(settled)[-3:] == ["task.result", "task.result", "task.concluded"]


def test_same_warning_is_said_once(task):
    for sentence in ("seen", "seen again"):
        reviewing.add_flag(task, flag={"slug": "closed-by-agent", "sentence": sentence}, now=timezone.now())

    task.refresh_from_db()
    assert [flag["sentence"] for flag in task.flags] == ["seen"]

"""The trail by program: who reads what, filters, cursors, and the hash beside every entry."""

from __future__ import annotations

from django.utils import timezone

from approvals import people
from approvals.api import schema
from tests.people import decide, new_task
from tests.programs import Program


def verbs_of(answer):
    assert answer.status_code == 200, answer.content
    return [entry["verb"] for entry in answer.json()["entries"]]


def test_the_trail_of_a_case_tells_it_from_the_beginning(alice, carol, task):
    decide(task, alice)
    told = Program(carol).get(f"cases/{task.case.code}/trail").json()["entries"]
    assert [entry["verb"] for entry in told][:2] == ["case.opened", "task.opened"]
    assert [entry["verb"] for entry in told].count("task.decided") == 1
    decided = next(entry for entry in told if entry["verb"] == "task.decided")
    assert decided["actor"] == {"kind": "person", "name": "alice"}
    assert set(decided) == set(schema.Entry.model_fields)
    assert len(decided["hash"]) == 64


def test_the_audit_is_newest_first_and_pages(carol, open_case):
    open_case(3)
    program = Program(carol)
    whole = [entry["seq"] for entry in program.get("audit", limit=200).json()["entries"]]
    first = program.get("audit", limit=2).json()
    rest = program.get("audit", limit=200, cursor=first["next"]).json()["entries"]
    assert [entry["seq"] for entry in first["entries"] + rest] == whole == sorted(whole, reverse=True)


def test_each_filter_of_the_audit(alice, carol, task):
    decide(task, alice)
    program = Program(carol)
    assert set(verbs_of(program.get("audit", verb="task.decided"))) == {"task.decided"}
    assert "task.decided" in verbs_of(program.get("audit", actor="alice"))
    assert "case.opened" in verbs_of(program.get("audit", agent="payer"))
    assert verbs_of(program.get("audit", since="2999-01-01T00:00:00Z")) == []
    assert "case.opened" not in verbs_of(program.get("audit", until="2000-01-01"))
    assert "case.opened" in verbs_of(program.get("audit", q=task.case.code.lower()))
    assert program.get("audit", since="soon").status_code == 400


def test_a_reviewer_reads_only_what_is_theirs(alice, charlie, task):
    assert "case.opened" in verbs_of(Program(alice).get("audit"))
    assert "case.opened" not in verbs_of(Program(charlie).get("audit"))
    assert Program(charlie).get(f"cases/{task.case.code}/trail").status_code == 404


def test_another_queues_task_stays_closed_in_a_shared_case(charlie, open_case, payments):
    travel = people.set_queue("travel", now=timezone.now())
    case = open_case(tasks=[new_task(payments, 1), new_task(travel, 2)])
    theirs = case.tasks.get(queue=payments).code
    told = Program(charlie).get(f"cases/{case.code}/trail").json()["entries"]
    assert "task.opened" in [entry["verb"] for entry in told]
    assert theirs not in [entry["task"] for entry in told]

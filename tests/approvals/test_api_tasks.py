"""Tasks as programs see them: lists, cursors, rights, and the shape that the contract fixes."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.api import schema
from tests.people import asked, decide, in_seconds, new_task, question_kit, shown
from tests.programs import Program, codes


def test_a_task_says_everything_that_the_contract_names(alice, task):
    told = Program(alice).get(f"tasks/{task.code}").json()
    assert set(told) == set(schema.Task.model_fields) - {"responseSchema"}
    assert told["toolCall"] == {
        "id": "call-1", "name": "send_money", "state": "complete",
        "argsText": '{"to": "ops@example.org", "amount": 120.50, "note": "rent"}',
    }  # fmt: skip
    assert (told["verdicts"], told["canEdit"]) == (["approved", "rejected", "cancelled"], True)
    assert (told["decision"], told["evidence"], told["blocked"], told["claimedBy"]) == (None, None, None, None)


def test_a_question_has_no_call_and_no_schema(alice, open_case, payments):
    open_case(tasks=[new_task(payments, exhibit=asked(), kit=question_kit())])
    told = Program(alice).get("tasks").json()["tasks"][0]
    assert told["toolCall"] is None
    assert "responseSchema" not in told


def test_numbers_of_a_schema_keep_their_text(alice, open_case, payments):
    schema_text = '{"maximum": 1.0, "multipleOf": 1e-2, "minimum": 123456789012345678901234567890}'
    open_case(tasks=[new_task(payments, exhibit=shown(response_schema=schema_text))])
    text = Program(alice).get("tasks").content.decode()
    assert '"responseSchema":{"maximum":1.0,"multipleOf":1e-2,"minimum":123456789012345678901234567890}' in text


def test_lone_surrogates_and_nul_come_through(alice, open_case, payments):
    open_case(tasks=[new_task(payments, exhibit=shown(message="a\udc80\x00b"))])
    assert json.loads(Program(alice).get("tasks").content)["tasks"][0]["message"] == "a\udc80\x00b"


def test_the_soonest_deadline_comes_first_and_none_comes_last(alice, open_case):
    never, late, soon = open_case(), open_case(deadline=in_seconds(900)), open_case(deadline=in_seconds(300))
    told = Program(alice).get("tasks").json()["tasks"]
    assert [row["case"] for row in told] == [soon.code, late.code, never.code]


def test_a_cursor_holds_while_tasks_come_and_go(alice, open_case):
    for seconds in (100, 200, 300, None, None):
        open_case(deadline=seconds and in_seconds(seconds))
    program = Program(alice)
    whole = codes(program.get("tasks"))
    first = program.get("tasks", limit=2).json()
    open_case(deadline=in_seconds(50))  # before the cursor: neither repeats nor hides a row
    found, cursor = [row["code"] for row in first["tasks"]], first["next"]
    while cursor:
        page = program.get("tasks", limit=2, cursor=cursor).json()
        found, cursor = found + [row["code"] for row in page["tasks"]], page["next"]
    assert found == whole


def test_filters_are_exact(alice, open_case, payments):
    mine = open_case(tasks=[new_task(payments, exhibit=shown("pay_invoice"))])
    open_case(case={"thread_key": "z" * 64})
    program = Program(alice)
    assert [row["case"] for row in program.get("tasks", q="PAY_invoice").json()["tasks"]] == [mine.code]
    assert codes(program.get("tasks", agent="nobody")) == codes(program.get("tasks", queue="travel")) == []
    assert len(codes(program.get("tasks", agent="payer", queue="payments", state="open"))) == 2


def test_expired_is_a_state_of_its_own(alice, open_case):
    late = open_case(deadline=in_seconds(600), now=timezone.now() - timedelta(days=1))
    type(late).objects.filter(pk=late.pk).update(deadline=timezone.now())
    program = Program(alice)
    assert codes(program.get("tasks", state="open")) == []
    assert program.get("tasks", state="expired").json()["tasks"][0]["state"] == "expired"


@pytest.mark.parametrize(
    "query",
    [
        {"state": "odd"},
        {"limit": 0},
        {"limit": 201},
        {"limit": "x"},
        {"cursor": "???"},
        {"cursor": "W10"},
        {"sate": "open"},
    ],
)
def test_a_bad_query_is_400_and_says_why(alice, query):
    answer = Program(alice).get("tasks", **query)
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert answer.json()["code"] == "bad_query"


def test_another_queues_task_does_not_exist(charlie, task):
    program = Program(charlie)
    assert codes(program.get("tasks")) == []
    for answer in (program.get(f"tasks/{task.code}"), program.decides(task), program.post(f"tasks/{task.code}/claim")):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("who", ["carol", "adam"])
def test_what_one_sees_but_may_not_do_is_403_with_the_reason(request, who, task):
    answer = Program(request.getfixturevalue(who)).decides(task)
    assert (answer.status_code, answer.json()["detail"]) == (403, "Only reviewers of the queue decide.")


def test_an_operator_is_offered_only_the_cancel(olga, task):
    told = Program(olga).get(f"tasks/{task.code}").json()
    assert (told["verdicts"], told["canEdit"]) == (["cancelled"], False)
    assert set(told["whyNot"]) == {"approved", "rejected"}


def test_claim_and_release_answer_with_the_task(alice, bob, task):
    assert Program(alice).post(f"tasks/{task.code}/claim").json()["claimedBy"] == "alice"
    assert Program(bob).post(f"tasks/{task.code}/claim").status_code == 409
    assert Program(alice).post(f"tasks/{task.code}/release").json()["claimedBy"] is None


def test_a_decision_is_told_with_what_changed(alice, task):
    decide(task, alice, edits='{"to": "ops@example.org", "amount": 99.90, "note": "rent"}', comment="less")
    answer = Program(alice).get(f"tasks/{task.code}")
    told = answer.json()["decision"]
    assert (told["by"], told["verdict"], told["comment"]) == ("alice", "approved", "less")
    assert told["changedPaths"] == ["/amount"]
    assert '"amount":99.90' in answer.content.decode()
    schema.Task.model_validate(answer.json())

"""Cases, deliveries and incidents as programs see them."""

from __future__ import annotations

import pytest
from django.utils import timezone

from agentbridge.api import schema
from approvals import jsontext, people
from approvals.api.schema import Entries
from tests import bridge_rows as rows
from tests.people import decide, new_task
from tests.programs import Program


@pytest.fixture
def run(payments):
    return rows.add_run(rows.add_agent(payments))


@pytest.fixture
def case(open_case, run):
    case = open_case()
    rows.bind(run, case.tasks.all())
    return case


def members(shape):
    return {field.alias or name for name, field in shape.model_fields.items()}


def test_an_open_case_owes_nothing_yet(alice, case):
    told = Program(alice).get(f"cases/{case.code}").json()
    assert set(told) == members(schema.Case)
    assert (told["state"], told["delivery"], told["incidents"], told["previous"]) == ("open", None, [], None)
    assert [task["code"] for task in told["tasks"]] == [case.tasks.get().code]


def test_a_settled_case_is_held_while_it_can_be_recalled(alice, case, settings):
    settings.UNDO_SECONDS = 60
    decide(case.tasks.get(), alice)
    program = Program(alice)
    assert program.get(f"cases/{case.code}").json()["delivery"] == {
        "state": "held", "class": None, "entries": [], "attempts": [],
    }  # fmt: skip
    for odd in (r'{"task": "\u0000"}', r'{"task": "\ud800"}'):
        assert program.post(f"cases/{case.code}/recall", odd).json()["errors"][0]["pointer"] == "/task"
    assert program.post(f"cases/{case.code}/recall").json()["state"] == "open"


def test_whoever_reads_of_an_end_reads_what_was_wrong_with_it(alice, case, run, django_assert_max_num_queries):
    rows.seal(case, run)
    with django_assert_max_num_queries(60) as asked:
        Program(alice).get(f"cases/{case.code}")
    read = [query["sql"].partition("FROM")[2].split()[0].strip('"') for query in asked if "FROM" in query["sql"]]
    last = max(at for at, table in enumerate(read) if table == "agentbridge_resume")
    assert read.index("agentbridge_incident") > last


def test_a_delivery_is_told_with_entries_and_attempts(alice, case, run):
    resume = rows.seal(case, run, answer_class="H")
    rows.attempt(resume)
    told = Program(alice).get(f"cases/{case.code}").json()["delivery"]
    assert (told["state"], told["class"]) == ("in_doubt", "H")
    assert told["entries"] == [{"interruptId": "int-1", "status": "resolved", "payload": {"approved": True}}]
    (attempt,) = told["attempts"]
    assert set(attempt) == members(schema.Attempt)
    assert (attempt["n"], attempt["runId"], attempt["bytesSent"]) == (1, "resumed-1", 8004)


def test_entries_keep_the_text_of_their_numbers(alice, case, run):
    rows.seal(case, run, entries=[{"interruptId": "int-1", "status": "resolved", "payload": jsontext.Number("1.50e3")}])
    assert '"payload":1.50e3' in Program(alice).get(f"cases/{case.code}").content.decode()


def test_what_is_told_fits_what_is_declared(olga, case, run):
    rows.attempt(rows.seal(case, run, answer_class="H"))
    rows.incident(case, run)
    program = Program(olga)
    schema.Case.model_validate(program.get(f"cases/{case.code}").json())
    schema.Runs.model_validate(program.get("runs").json())
    trail = Entries.model_validate(program.get(f"cases/{case.code}/trail").json())
    assert trail.entries


def test_a_shared_case_shows_other_queues_tasks_only_by_name(charlie, open_case, payments, run):
    travel = people.set_queue("travel", now=timezone.now())
    case = open_case(tasks=[new_task(payments, 1), new_task(travel, 2)])
    rows.seal(case, run)
    told = Program(charlie).get(f"cases/{case.code}").json()
    assert set(told["tasks"][0]) == {"code", "queue", "state"}
    assert "shownDigest" in told["tasks"][1]
    assert told["delivery"]["entries"] == []


def test_a_case_of_another_queue_does_not_exist(charlie, case):
    program = Program(charlie)
    assert program.get(f"cases/{case.code}").status_code == 404
    assert program.post(f"cases/{case.code}/abandon", {"reason": "no"}).status_code == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("resolve-doubt", {"action": "resend", "reason": "why"}),
        ("close-expired", {"action": "abandon", "reason": "why"}),
        ("accept-deviation", {"reason": "why"}), ("rebind", {"reason": "why"}), ("unblock", {"reason": "why"}),
        ("abandon", {"reason": "why"}),
    ],
)  # fmt: skip
def test_only_operators_find_ways_out(alice, carol, case, path, body):
    for who in (alice, carol):
        answer = Program(who).post(f"cases/{case.code}/{path}", body)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), answer.content


@pytest.mark.parametrize("body", [{"action": "forget", "reason": "why"}, {"action": "resend"}, {"reason": "why"}])
def test_a_way_out_needs_a_known_action_and_a_reason(olga, case, run, body):
    rows.seal(case, run)
    assert Program(olga).post(f"cases/{case.code}/resolve-doubt", body).status_code == 422


def test_an_operator_marks_a_doubtful_delivery_done(olga, case, run):
    rows.attempt(rows.seal(case, run))
    answer = Program(olga).post(
        f"cases/{case.code}/resolve-doubt", {"action": "mark_done", "reason": "seen in the log"}
    )
    assert answer.status_code == 200, answer.content
    assert (answer.json()["state"], answer.json()["delivery"]["state"]) == ("delivered", "marked_done")


def test_what_is_not_in_doubt_cannot_be_settled(olga, case):
    answer = Program(olga).post(f"cases/{case.code}/resolve-doubt", {"action": "resend", "reason": "why"})
    assert (answer.status_code, answer.json()["code"]) == (409, "wrong_state")


def test_incidents_are_listed_filtered_and_closed_once(olga, case, run):
    found = rows.incident(case, run)
    program = Program(olga)
    assert [row["id"] for row in program.get("incidents", state="open", kind="ran_twice").json()["incidents"]] == [
        found.pk
    ]
    assert set(program.get("incidents").json()["incidents"][0]) == members(schema.Incident)
    closed = program.post(f"incidents/{found.pk}/close", {"reason": "refunded"})
    assert (closed.json()["closedBy"], closed.json()["reason"]) == ("olga", "refunded")
    assert program.post(f"incidents/{found.pk}/close", {"reason": "again"}).status_code == 409
    assert program.get("incidents", state="open").json()["incidents"] == []
    assert case.entries.filter(verb="incident.closed").count() == 1


def test_reviewers_see_incidents_of_their_tasks_but_do_not_close_them(alice, charlie, case, run):
    found = rows.incident(case, run)
    assert Program(alice).post(f"incidents/{found.pk}/close", {"reason": "no"}).status_code == 403
    assert Program(charlie).get("incidents").json()["incidents"] == []
    assert Program(charlie).post(f"incidents/{found.pk}/close", {"reason": "no"}).status_code == 404

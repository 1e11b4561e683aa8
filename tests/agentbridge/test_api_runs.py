"""Runs by program: started, listed, and read as bytes, by those who may."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from agentbridge.api import schema
from agentbridge.models import Run, Thread
from tests import bridge_rows as rows
from tests.people import new_task
from tests.programs import Program


@pytest.fixture
def agent(payments):
    return rows.add_agent(payments)


def test_a_run_is_queued_with_its_bytes(alice, agent):
    body = '{"threadId": "t 1", "state": {"big": 12345678901234567890.10}, "messages": []}'
    answer = Program(alice).post("agents/payer/runs", body)
    assert answer.status_code == 202, answer.content
    run = Run.objects.get()
    assert answer.json()["threadId"] == "t 1"
    assert answer.json()["run"].endswith(f"/agents/payer/runs/?run={quote(run.run_id)}")
    assert b"12345678901234567890.10" in run.input


def test_an_empty_body_starts_a_run_on_a_new_thread(olga, agent):
    told = Program(olga).post("agents/payer/runs", "{}").json()
    assert told["threadId"] and told["runId"] and told["threadId"] != told["runId"]


def test_the_same_key_starts_one_run(alice, agent):
    first, again = (Program(alice).post("agents/payer/runs", "{}", key="once") for _ in range(2))
    assert (again.status_code, again.content) == (202, first.content)
    assert Run.objects.count() == 1


def test_a_paused_thread_names_what_is_open(alice, agent, open_case):
    from agentbridge.models.agents import key_of

    Thread.objects.create(agent=agent, key=key_of("thread-1"), thread_id="thread-1")
    case = open_case(case={"thread_key": key_of("thread-1")})
    answer = Program(alice).post("agents/payer/runs", {"threadId": "thread-1"})
    told = answer.json()
    assert (answer.status_code, told["code"], told["ids"]) == (409, "thread_open", ["int-1"])
    assert told["links"][0].endswith(f"/cases/{case.code}/")


def test_a_busy_thread_and_a_known_run_are_refused(alice, agent):
    program = Program(alice)
    program.post("agents/payer/runs", {"threadId": "t", "runId": "r"})
    busy = program.post("agents/payer/runs", {"threadId": "t"})
    known = program.post("agents/payer/runs", {"threadId": "other", "runId": "r"})
    assert [(answer.status_code, answer.json()["code"]) for answer in (busy, known)] == [
        (409, "thread_busy"), (409, "wrong_state"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["[]", "{", '{"threadId": 7}', '{"messages": {}}'])
def test_what_is_no_input_is_422(alice, agent, text):
    assert Program(alice).post("agents/payer/runs", text).status_code == 422
    assert not Run.objects.exists()


def test_who_may_start_runs(carol, adam, charlie, agent):
    assert [Program(who).post("agents/payer/runs", "{}").status_code for who in (carol, adam, charlie)] == [
        403,
        403,
        404,
    ]


def test_runs_are_listed_newest_first_without_those_never_sent(alice, agent):
    rows.add_run(agent, "old", warnings='[{"rule":"C-2","severity":"warning","where":"1","text":"odd"}]')
    rows.add_run(agent, "new")
    rows.add_run(agent, "never", status=Run.Status.UNSENT)
    program = Program(alice)
    told = program.get("runs", agent="payer", thread="thread-1").json()["runs"]
    assert [run["runId"] for run in told] == ["new", "old"]
    assert told[1]["warnings"] == [{"rule": "C-2", "severity": "warning", "where": "1", "text": "odd"}]
    assert set(told[0]) == {field.alias or name for name, field in schema.Run.model_fields.items()}
    assert len(program.get("runs", all=1).json()["runs"]) == 3


@pytest.mark.parametrize("run_id", ["run-1", "a/b?c#d e", "ключ", "%2F", "line\nbreak\x00"])
def test_the_bytes_come_back_as_they_came_under_any_id(alice, agent, run_id):
    rows.add_run(agent, run_id, stream=b"data: \xff\x00\r\n\r\n")
    program = Program(alice)
    by_query = program.get("runs/stream", agent="payer", run=run_id)
    by_path = program.get(f"runs/{quote(run_id, safe='')}/stream", agent="payer")
    assert by_query.content == by_path.content == b"data: \xff\x00\r\n\r\n"
    assert by_query["Content-Disposition"].startswith("attachment")


def test_a_stream_with_another_queues_task_is_not_read(alice, charlie, agent, open_case, payments):
    from approvals.models import Queue

    run = rows.add_run(agent)
    case = open_case(tasks=[new_task(payments, 1), new_task(Queue.objects.get(name="travel"), 2)])
    rows.bind(run, case.tasks.all())
    for who in (alice, charlie):
        assert Program(who).get("runs").json()["runs"] == []
        assert Program(who).get("runs/stream", agent="payer", run="run-1").status_code == 404


def test_a_routed_reviewer_sees_exactly_the_runs_of_their_tasks(charlie, payments, open_case):
    from approvals.models import Queue

    agent = rows.add_agent(payments, routes={"book": "travel"})
    rows.add_run(agent, "without tasks")
    asked = rows.add_run(agent, "theirs")
    rows.bind(asked, open_case(tasks=[new_task(Queue.objects.get(name="travel"))]).tasks.all())
    assert [run["runId"] for run in Program(charlie).get("runs").json()["runs"]] == ["theirs"]


def test_the_openapi_document_declares_paths_and_refusals(alice):
    told = Program(alice).get("openapi.json").json()
    decision = told["paths"]["/api/v1/tasks/{code}/decision"]["post"]
    assert set(decision["responses"]) == {"200", "400", "401", "403", "404", "409", "413", "422", "429"}
    assert "requestBody" in decision

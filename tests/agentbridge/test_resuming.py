"""From a pause to the second run: what is sent, how often, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from agentbridge.models import Incident, Run
from agentbridge.models.delivery import WAITING
from approvals import jsontext
from approvals.models import Case, User
from tests.bridge_work import Script, delivery, due_again, paused_case, register, work
from tests.people import decide, in_seconds, only_task, pass_deadline, verbs
from tests.scripted_agent import (
    HANG,
    RESET,
    Answer,
    ScriptedAgent,
    call,
    failed,
    finished,
    finishing,
    interrupt,
    pausing,
    result,
    started,
)

pytestmark = pytest.mark.django_db(transaction=True)


def decided(agent: ScriptedAgent, by: User, verdict: str = "approved", *, wanted: Any = None, **more: Any) -> Case:
    """A case of one task, decided and carried to its agent."""
    case = paused_case(register(agent, **(wanted or {})), by)
    decide(only_task(case), by, verdict, **more)
    work()
    case.refresh_from_db()
    return case


def kinds(case: Case) -> list[str]:
    return list(Incident.objects.filter(case=case).order_by("pk").values_list("kind", flat=True))


def test_an_approval_reaches_the_agent_and_its_result_closes_the_trail(script: Script, alice: User) -> None:
    agent = script(pausing(), finishing("paid 12.50"))
    case = decided(agent, alice)

    assert agent.resumes == [[{"interruptId": "int-1", "status": "resolved", "payload": {"approved": True}}]]
    task = only_task(case)
    assert (case.state, delivery(case).state, task.conclusion) == ("delivered", "finished", "Executed as approved.")
    assert jsontext.loads(task.results or "")[0]["text"] == "paid 12.50"
    assert verbs(case) == [
        "case.opened", "task.opened", "task.decided", "case.settled", "case.taken", "resume.sealed", "delivery.leased",
        "case.sent", "delivery.armed", "run.started", "delivery.accepted", "task.result", "run.finished",
        "delivery.finished", "case.delivered", "task.concluded",
    ]  # fmt: skip


def test_the_second_input_is_the_first_with_history_and_answers_under_a_new_run_id(script: Script, alice: User) -> None:
    agent = script(pausing(), finishing())
    decided(agent, alice, edits='{"amount": 9.00}')

    first, second = (post.json for post in agent.posts)
    assert second["threadId"] == first["threadId"]
    assert second["runId"] != first["runId"]
    assert set(second) == {*first, "resume"}
    assert [message["role"] for message in second["messages"]] == ["user", "assistant"]
    assert b'"editedArgs":{"amount": 9.00}' in agent.posts[1].body
    assert b'{\\"amount\\": 12.50}' in agent.posts[1].body  # the reviewed call, as it was streamed


def test_a_resumed_run_that_pauses_again_opens_the_next_case(script: Script, alice: User) -> None:
    second = pausing(interrupt("int-2", "tc-2"), calls=result() + call("ship", id_="tc-2"))
    agent = script(pausing(), second, finishing("shipped", "tc-2"))
    case = decided(agent, alice)

    following = Case.objects.get(previous=case)
    assert (delivery(case).state, case.state, following.state) == ("interrupted_again", "delivered", "open")
    decide(only_task(following), alice)
    work()
    assert [entry["interruptId"] for resume in agent.resumes for entry in resume] == ["int-1", "int-2"]


def test_nothing_leaves_before_every_question_is_answered(script: Script, alice: User, bob: User) -> None:
    calls = call(id_="tc-1") + call(id_="tc-2")
    agent = script(pausing(interrupt(), interrupt("int-2", "tc-2"), calls=calls), finishing())
    case = paused_case(register(agent), alice)
    first, second = case.tasks.order_by("position")
    decide(second, bob, "rejected")
    work()
    assert agent.resumes == []

    decide(first, alice)
    work()
    payloads = [(entry["interruptId"], entry["payload"]["approved"]) for entry in agent.resumes[0]]
    assert payloads == [("int-1", True), ("int-2", False)]


AFTER = [
    pytest.param(Answer([b"no"], status=422, headers={}), "rejected", "A", id="422"),
    pytest.param(Answer(status=307, headers={"Location": "http://127.0.0.1:9/"}), "rejected", "A", id="redirect"),
    pytest.param(Answer(status=503, headers={"Retry-After": "1"}), "rejected", "A", id="503 with Retry-After"),
    pytest.param(Answer([failed("gone", "UNKNOWN_INTERRUPT")]), "agent_error", "B", id="refused in stream"),
    pytest.param(Answer([started(), failed("partial")]), "agent_error", "C", id="refused after the start"),
    pytest.param(Answer([started(), result(), failed("boom")]), "agent_error", "D", id="failed after a result"),
    pytest.param(Answer([RESET], head=False), "in_doubt", "H", id="reset"),
    pytest.param(Answer([HANG], head=False), "in_doubt", "H", id="silence"),
    pytest.param(Answer(status=502, headers={}), "in_doubt", "H", id="gateway"),
    pytest.param(Answer(), "in_doubt", "H", id="empty 200"),
    pytest.param(Answer([b"<html>"], headers={"Content-Type": "text/html"}), "in_doubt", "H", id="login page"),
    pytest.param(Answer([started(), result()]), "outcome_unknown", "H", id="cut after a result"),
    pytest.param(Answer([started(), RESET]), "outcome_unknown", "H", id="reset after the start"),
]


@pytest.mark.parametrize(("answer", "state", "letter"), AFTER)
def test_what_came_back_decides_and_nothing_is_sent_twice(
    script: Script, alice: User, settings: Any, answer: Answer, state: str, letter: str
) -> None:
    agent = script(pausing(), answer)
    case = decided(agent, alice)
    if HANG in answer.parts:
        settings.FIRST_EVENT_SECONDS = 3
    work()

    assert (delivery(case).state, delivery(case).answer_class) == (state, letter)
    assert delivery(case).state in WAITING
    assert len(agent.resumes) == 1
    assert case.state == "settled"


def test_429_is_not_taken_and_tried_again_with_equal_entries(script: Script, alice: User) -> None:
    busy = Answer(status=429, headers={"Retry-After": "0"})
    agent = script(pausing(), busy, busy, finishing())
    case = decided(agent, alice)
    while delivery(case).state == "ready":
        work()

    assert delivery(case).state == "finished"
    resumed = agent.posts[1:]
    assert len({post.json["runId"] for post in resumed}) == 3
    assert len({jsontext.member(post.body.decode(), "resume") for post in resumed}) == 1


@pytest.mark.usefixtures("unhurried")
def test_an_agent_that_is_down_gets_its_answer_when_it_is_up_under_the_prepared_run_id(
    script: Script, alice: User
) -> None:
    agent = script(pausing(), finishing())
    case = paused_case(register(agent), alice)
    agent.down()
    decide(only_task(case), alice)
    work()
    prepared = delivery(case).next_run_id
    assert (delivery(case).state, bool(prepared)) == ("ready", True)

    agent.up()
    due_again()
    work()
    assert [post.json["runId"] for post in agent.posts][1:] == [prepared]
    assert delivery(case).state == "finished"


def test_a_verified_agent_is_asked_again_after_a_lost_answer(script: Script, alice: User) -> None:
    agent = script(pausing(), Answer([RESET], head=False), finishing())
    case = decided(agent, alice, wanted={"replay": "verified"})
    while delivery(case).state == "ready":
        work()

    assert delivery(case).state == "finished"
    assert len(agent.resumes) == 2
    assert agent.resumes[0] == agent.resumes[1]


@pytest.mark.usefixtures("unhurried")
def test_an_answer_for_an_agent_that_moved_waits_for_a_person(script: Script, alice: User) -> None:
    agent, other = script(pausing(), finishing()), script(finishing())
    case = paused_case(register(agent), alice)
    agent.down()
    decide(only_task(case), alice)
    work()
    register(other)
    due_again()
    work()
    case.refresh_from_db()

    assert "address changed" in case.blocked
    assert (delivery(case).state, other.posts) == ("ready", [])


def test_a_history_that_was_changed_on_record_is_not_sent(script: Script, alice: User) -> None:
    agent = script(pausing(), finishing())
    case = paused_case(register(agent), alice)
    run = Run.objects.get()
    Run.objects.update(snapshot=run.snapshot.replace("12.50", "9999"))
    decide(only_task(case), alice)
    work()

    case.refresh_from_db()
    assert "not the call that was reviewed" in case.blocked
    assert agent.resumes == []


@pytest.mark.usefixtures("unhurried")
def test_a_deadline_that_passes_before_arming_leaves_the_answer_unsent(script: Script, alice: User) -> None:
    deadline = in_seconds(3600).isoformat()
    agent = script(pausing(interrupt(expiresAt=deadline)), finishing())
    case = paused_case(register(agent), alice)
    agent.down()
    decide(only_task(case), alice)
    work()
    assert delivery(case).state == "ready"
    pass_deadline(case)
    agent.up()
    work()

    assert delivery(case).state == "expired_unsent"
    assert agent.resumes == []


def test_a_late_error_keeps_the_end_and_is_an_incident(script: Script, alice: User) -> None:
    agent = script(pausing(), Answer([started(), result(), finished(), failed("late")]))
    case = decided(agent, alice)
    assert (delivery(case).state, delivery(case).answer_class, kinds(case)) == ("finished", "J", ["late_error"])

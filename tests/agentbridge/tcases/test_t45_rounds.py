"""T-44a to T-51: coverage, rounds, and questions that are asked again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from agentbridge.delivery import sealing
from agentbridge.models import Interrupt, Resume, Run
from agentbridge.runs import starting
from agentbridge.wire.protocol import ProtocolError
from approvals import jsontext
from approvals.models import Case, Decision, User
from approvals.models.cases import EndedBecause
from approvals.refusals import Refused
from tests.agentbridge.recordings import Tape, case_of, slugs
from tests.bridge_work import Script, ask, delivery, paused_case, register, work
from tests.people import decide, only_task
from tests.scripted_agent import Answer, call, finished, finishing, interrupt, pausing, result, started

TWO_CALLS = call() + call("look", id_="tc-2")
OFFERED = {"name": "look", "description": "in the browser", "parameters": {}}


@pytest.fixture
def tape(payments: Any, alice: User) -> Tape:
    return Tape(payments, alice)


@pytest.mark.django_db(transaction=True)
def test_t44a_an_ungated_neighbour_without_a_result_does_not_stop_the_resume(script: Script, alice: User) -> None:
    both = Answer([started(), result(), result("seen", "tc-2", "m-2"), finished()])
    agent = script(pausing(calls=TWO_CALLS), both)
    case = paused_case(register(agent), alice)
    decide(only_task(case), alice)
    work()
    assert delivery(case).state == "finished"
    assert [message["role"] for message in agent.posts[1].json["messages"]] == ["user", "assistant", "assistant"]


@pytest.mark.django_db(transaction=True)
def test_t44b_an_open_frontend_call_stops_the_resume_until_it_is_answered(script: Script, alice: User) -> None:
    agent = script(pausing(calls=TWO_CALLS), finishing())
    asked = jsontext.dumps({"tools": [OFFERED], "messages": []})
    case = paused_case(register(agent), alice, run_input_text=asked)
    decide(only_task(case), alice)
    work()
    case.refresh_from_db()
    assert ("look" in case.blocked, agent.resumes) == (True, [])


THREE = [interrupt(f"int-{n}", f"tc-{n}") for n in (1, 2, 3)]
THREE_CALLS = b"".join(call(id_=f"tc-{n}") for n in (1, 2, 3))


@pytest.mark.django_db(transaction=True)
def test_t45_two_of_three_decided_sends_nothing(script: Script, alice: User) -> None:
    agent = script(pausing(*THREE, calls=THREE_CALLS), finishing())
    case = paused_case(register(agent), alice)
    for task in case.tasks.order_by("position")[:2]:
        decide(task, alice)
    work()
    case.refresh_from_db()
    assert (case.state, agent.resumes, sealing.due(timezone.now())) == ("open", [], [])


@pytest.mark.django_db
def test_t46_a_message_on_a_paused_thread_is_refused_with_the_open_ids(tape: Tape, alice: User) -> None:
    case = case_of(tape.record(started(), call(), finished(interrupt())))
    with pytest.raises(starting.ThreadOpen) as refusal:
        ask(tape.agent, alice)
    assert (refusal.value.ids, refusal.value.cases) == (["int-1"], [case.code])
    assert Run.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_t47_the_answers_of_an_older_round_never_leave(script: Script, alice: User) -> None:
    agent = script(pausing(), finishing())
    case = paused_case(register(agent), alice)
    decide(only_task(case), alice)
    agent.down()
    work()
    thread = Run.objects.earliest("pk").thread
    newer = Run.objects.create(
        thread=thread, key="n" * 64, run_id="newer", status="interrupted", created_at=timezone.now()
    )
    Interrupt.objects.create(run=newer, position=0, key="i" * 64, interrupt_id="int-2", raw="{}")
    agent.up()
    while not case.blocked:
        work()
        case.refresh_from_db()
    assert ("A later run" in case.blocked, agent.resumes) == (True, [])


@pytest.mark.django_db
@pytest.mark.parametrize("ids", [[], ["int-1"], ["int-1", "int-1"], ["int-1", "int-9"]])
def test_t48_a_run_that_brings_its_own_answers_is_refused_whatever_they_cover(
    tape: Tape, alice: User, ids: list[str]
) -> None:
    entries = [{"interruptId": id_, "status": "resolved", "payload": True} for id_ in ids]
    with pytest.raises(ProtocolError) as refusal:
        ask(tape.agent, alice, run_input_text=jsontext.dumps({"messages": [], "resume": entries}))
    assert (refusal.value.field, Run.objects.count()) == ("resume", 0)


@pytest.mark.django_db
def test_t49_one_id_on_two_threads_and_two_agents_is_two_questions_each(tape: Tape, payments: Any, alice: User) -> None:
    parts = (started(), call(), finished(interrupt("same")))
    other = Tape(payments, alice, slug="other")
    tasks = [tape.task(*parts), tape.task(*parts, thread="thread-2"), other.task(*parts)]
    decide(tasks[0], alice)
    assert Decision.objects.count() == 1
    states = []
    for task in tasks:
        task.refresh_from_db()
        states.append(task.state)
    assert (states, [slugs(task) for task in tasks]) == (["settled", "open", "open"], [[], [], []])


@pytest.mark.django_db(transaction=True)
def test_t49_one_id_in_two_rounds_is_decided_twice_and_linked(script: Script, alice: User) -> None:
    again = pausing(interrupt(call_id="tc-2"), calls=result() + call("ship", id_="tc-2"))
    agent = script(pausing(), again, finishing("shipped", "tc-2"))
    case = paused_case(register(agent), alice)
    decide(only_task(case), alice)
    work()
    following = Case.objects.get(previous=case)
    task = only_task(following)
    assert (task.state, slugs(task), task.asking) == ("open", ["asked-again"], 2)
    assert only_task(case).code in task.flags[0]["sentence"]
    decide(task, alice, "rejected")
    work()
    assert [entry["payload"]["approved"] for resume in agent.resumes for entry in resume] == [True, False]


@pytest.mark.django_db
def test_t50_a_question_asked_again_by_an_ordinary_run_supersedes_the_older_one(tape: Tape) -> None:
    first = case_of(tape.record(started(), call(), finished(interrupt())))
    before = first.tasks.get()
    again = case_of(pushed(tape, started(), call(), finished(interrupt())))
    first.refresh_from_db()
    assert (first.state, first.ended_because) == ("withdrawn", EndedBecause.SUPERSEDED)
    task = again.tasks.get()
    assert (again.state, again.previous, slugs(task)) == ("open", first, ["asked-again"])
    assert before.code in task.flags[0]["sentence"]


def pushed(tape: Tape, *parts: bytes, monkey: Any = starting) -> Run:
    """An ordinary run on a paused thread: nothing here starts one, a host may still push it."""
    held, monkey.check_thread = monkey.check_thread, lambda thread: None
    try:
        return tape.record(*parts)
    finally:
        monkey.check_thread = held


@pytest.mark.django_db(transaction=True)
def test_t51_of_two_reviewers_one_wins_and_the_other_is_told_who(script: Script, alice: User, bob: User) -> None:
    agent = script(pausing(), finishing())
    task = only_task(paused_case(register(agent), alice))

    def say(by: User) -> str:
        try:
            return decide(type(task).objects.get(pk=task.pk), by).verdict
        except Refused as refusal:
            return f"{refusal.code} {refusal}"
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as people:
        said = sorted(people.map(say, (alice, bob)))
    work()
    winner = Decision.objects.get().by
    assert said[0] == "approved"
    assert (said[1].startswith("decided"), winner.username in said[1].lower()) == (True, True)
    assert (len(agent.resumes), Resume.objects.count()) == (1, 1)


@pytest.mark.django_db
def test_t86_a_success_we_did_not_cause_closes_nothing_and_is_flagged(tape: Tape) -> None:
    case = case_of(tape.record(started(), call(), finished(interrupt())))
    pushed(tape, started(), finished())
    case.refresh_from_db()
    assert (case.state, slugs(case.tasks.get())) == ("open", ["closed-by-agent"])


@pytest.mark.django_db
def test_t85_an_answer_from_elsewhere_seen_in_an_echo_withdraws_the_question(tape: Tape) -> None:
    case = case_of(tape.record(started(), call(), finished(interrupt())))
    said = b'[{"interruptId":"int-1","status":"resolved","payload":1}]'
    echo = b'"input":{"threadId":"thread-1","runId":"x","messages":[],"resume":' + said + b"}"
    other = started().replace(b"__RUN__", b"x").replace(b'"runId"', echo + b',"runId"')
    pushed(tape, other, finished().replace(b"__RUN__", b"x"), started(), finished())
    case.refresh_from_db()
    assert (case.state, case.ended_because) == ("withdrawn", EndedBecause.ANSWERED_ELSEWHERE)

"""Callers who decide: through the gate of a reviewer's, delivered once, and told the recorded run."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from agentbridge.models import Agent, Resume, Run
from agentbridge.record import verifying
from approvals.models import AuditEntry, Case, Decision, Queue, User
from approvals.trail import verification
from tests.agentbridge.ways.desk import Json, Outside, asked, outside
from tests.agentbridge.ways.test_following import following
from tests.bridge_work import Script, work
from tests.people import decide, only_task
from tests.scripted_agent import RESET, Answer, call, finished, finishing, interrupt, pausing, result, started
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)
YES: Json = {"interruptId": "int-1", "status": "resolved", "payload": {"approved": True}}
NO: Json = {**YES, "payload": {"approved": False}}
CANCEL: Json = {"interruptId": "int-1", "status": "cancelled"}


def caller(web: str, agent: Any) -> Outside:
    """One whose agent lets callers decide, in front of a pause."""
    found = outside(web, agent)
    Agent.objects.update(caller_decides=True)
    found.run()
    return found


def answers(*entries: Json, run_id: str = "run-2", **more: Any) -> Json:
    return asked(run_id, resume=list(entries), **more)


@contextmanager
def bridge() -> Iterator[None]:
    """Works beside the caller, who waits for the run."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(0.05):
            work()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def as_sent(*parts: bytes, run_id: str = "run-2") -> bytes:
    return b"".join(parts).replace(b"__THREAD__", b"thread-1").replace(b"__RUN__", run_id.encode())


def test_an_answer_is_a_decision_of_the_caller_and_its_run_comes_back(web: str, script: Script) -> None:
    agent = script(pausing(), finishing())
    asking = caller(web, agent)
    with bridge():
        answer = asking.run(answers(YES))
    assert answer.status_code == 200 and answer.content == as_sent(started(), result(), finished())
    decision = Decision.objects.get()
    assert (decision.by, decision.by_kind, decision.verdict) == (None, "caller", "approved")
    assert agent.resumes == [[YES]] and agent.posts[1].json["runId"] == "run-2"
    assert Case.objects.get().state == "delivered"


@pytest.mark.parametrize(("entry", "verdict"), [(NO, "rejected"), (CANCEL, "cancelled")])
def test_a_no_and_a_cancel_are_what_they_are(web: str, script: Script, entry: Json, verdict: str) -> None:
    agent = script(pausing(), finishing())
    with bridge():
        assert caller(web, agent).run(answers(entry)).status_code == 200
    assert Decision.objects.get().verdict == verdict and agent.resumes == [[entry]]


def test_edited_arguments_go_through_the_kit(web: str, script: Script) -> None:
    agent = script(pausing(), finishing())
    body = json.dumps(answers({**YES, "payload": 1})).replace(
        '"payload": 1', '"payload": {"approved":true,"editedArgs":{"amount":9007199254740993}}'
    )
    with bridge():
        assert caller(web, agent).run(body.encode()).status_code == 200
    assert Decision.objects.get().edits == '{"amount":9007199254740993}'
    assert b'"editedArgs":{"amount":9007199254740993}' in agent.posts[1].body


def test_a_reason_that_is_in_the_answer_is_the_reason_that_a_queue_asks_for(web: str, script: Script) -> None:
    said = {"type": "object", "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}}}
    agent = script(pausing(interrupt(responseSchema=said)), finishing())
    asking = caller(web, agent)
    Queue.objects.update(reason_required=True, reason_length=5)
    with_reason = {**NO, "payload": {"approved": False, "reason": "It was paid already."}}
    assert asking.run(answers(NO)).status_code == 422
    with bridge():
        assert [asking.run(answers(with_reason)).status_code for _again in range(2)] == [200, 200]
    assert (Decision.objects.get().comment, agent.resumes) == ("It was paid already.", [[with_reason]])


def test_there_is_no_undo_for_a_caller(web: str, script: Script, settings: Any) -> None:
    settings.UNDO_SECONDS = 3600
    with bridge():
        assert caller(web, script(pausing(), finishing())).run(answers(YES)).status_code == 200


def test_the_same_answers_again_replay_the_recording(web: str, script: Script) -> None:
    agent = script(pausing(), finishing())
    asking = caller(web, agent)
    with bridge():
        first = asking.run(answers(YES))
    again = [asking.run(answers(YES)), asking.run(answers(YES, run_id="run-3"))]
    assert [each.content for each in again] == [first.content] * 2
    assert len(agent.posts) == 2 and Decision.objects.count() == 1


def test_a_listener_too_many_has_decided_and_comes_back_for_the_run(web: str, script: Script, settings: Any) -> None:
    agent = script(pausing(), finishing())
    asking = caller(web, agent)
    settings.WORKER_STREAMS = 1
    with bridge(), following(asking) as found:
        next(found)
        late = asking.run(answers(YES))
    assert (late.status_code, late.json()["code"]) == (503, "busy") and len(agent.resumes) == 1
    assert until(lambda: asking.run(answers(YES)).content.startswith(b"data:"))


def test_two_that_give_the_same_answers_at_once_get_the_same_run(web: str, script: Script) -> None:
    agent = script(pausing(), finishing())
    asking = caller(web, agent)
    got: list[bytes] = []
    with bridge():
        crowd = [threading.Thread(target=lambda: got.append(asking.run(answers(YES)).content)) for _ in range(3)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
    assert len(set(got)) == 1 and len(agent.resumes) == 1


def test_other_answers_are_refused_and_say_what_was_decided(web: str, script: Script) -> None:
    agent = script(pausing(), finishing())
    asking = caller(web, agent)
    with bridge():
        asking.run(answers(YES))
    told = asking.run(answers(NO, run_id="run-3"))
    assert (told.status_code, told.json()["code"], told.json()["verdict"]) == (409, "decided", "approved")
    assert len(agent.resumes) == 1
    assert "A caller tried to answer" in AuditEntry.objects.get(verb="case.refused").sentence


def test_a_reviewer_who_was_first_is_first(web: str, script: Script, alice: User) -> None:
    agent = script(pausing(), finishing())
    asking = caller(web, agent)
    decide(only_task(Case.objects.get()), alice)
    told = asking.run(answers(NO)).json()
    assert (told["code"], told["by"]) == ("decided", "alice")
    with bridge():
        assert asking.run(answers(YES, run_id="run-3")).status_code == 200
    assert Decision.objects.count() == 1 and len(agent.resumes) == 1


def test_an_agent_whose_callers_do_not_decide_takes_no_answer(web: str, script: Script) -> None:
    agent = script(pausing(), finishing())
    asking = caller(web, agent)
    Agent.objects.update(caller_decides=False)
    assert asking.run(answers(YES)).json()["code"] == "thread_open"
    assert not Decision.objects.exists() and not agent.resumes


@pytest.mark.parametrize(
    ("entries", "pointer"),
    [
        ([{**YES, "payload": {"approved": "yes"}}], "/resume/0/payload"),
        ([{**YES, "payload": {"approved": True, "editedArgs": 7}}], "/resume/0/payload"),
        ([{"interruptId": "int-1", "status": "resolved"}], "/resume/0/payload"),
        ([YES, {**YES, "interruptId": "int-9"}], "/resume/1/interruptId"),
        ([NO, YES], "/resume/0/interruptId"),
        ([{**YES, "status": "approved"}], "/resume"),
        (["yes"], "/resume"),
    ],
)
def test_what_the_question_does_not_take_is_refused_where_it_stands(
    web: str, script: Script, entries: list[Any], pointer: str
) -> None:
    agent = script(pausing(), finishing())
    told = caller(web, agent).run(asked("run-2", resume=entries))
    assert told.status_code == 422 and told.json()["errors"][0]["pointer"].startswith(pointer), told.text
    assert not Decision.objects.exists() and Case.objects.get().state == "open" and len(agent.posts) == 1


@pytest.mark.parametrize(
    ("once", "twice", "place"),
    [
        ('"status": "resolved"', '"status": "resolved", "status": "cancelled"', "/status"),
        ('"approved": true', '"approved": true, "approved": false', "/payload/approved"),
    ],
    ids=["a yes or none", "a yes or a no"],
)
def test_an_answer_that_could_be_read_as_two_is_none(
    web: str, script: Script, once: str, twice: str, place: str
) -> None:
    told = caller(web, script(pausing())).run(json.dumps(answers(YES)).replace(once, twice).encode())
    assert told.status_code == 422 and f"Entry 0 has {place} twice." in told.json()["errors"][0]["message"]
    assert not Decision.objects.exists()


def test_all_questions_or_none(web: str, script: Script) -> None:
    two = finished(interrupt(), interrupt("int-2", "tc-2"))
    agent = script(Answer([started(), call(), call(id_="tc-2"), two]), finishing())
    asking = caller(web, agent)
    told = asking.run(answers(YES)).json()
    assert (told["code"], told["ids"]) == ("thread_open", ["int-1", "int-2"])
    assert not Decision.objects.exists()
    with bridge():
        assert asking.run(answers({**NO, "interruptId": "int-2"}, YES)).status_code == 200
    assert [each["interruptId"] for each in agent.resumes[0]] == ["int-1", "int-2"]


def test_too_late_is_too_late(web: str, script: Script) -> None:
    soon = (timezone.now() - timedelta(seconds=1)).isoformat()
    agent = script(Answer([started(), call(), finished(interrupt(expiresAt=soon))]))
    told = caller(web, agent).run(answers(YES))
    assert (told.status_code, told.json()["code"]) == (409, "expired")


def test_a_run_id_that_was_used_before_answers_nothing(web: str, script: Script) -> None:
    asking = caller(web, script(pausing()))
    assert asking.run(answers(YES, run_id="run-1")).json()["code"] == "wrong_state"
    assert not Decision.objects.exists()


def test_where_every_decision_needs_a_reason_a_caller_without_one_is_refused(web: str, script: Script) -> None:
    asking = caller(web, script(pausing()))
    Queue.objects.update(reason_required=True)
    assert asking.run(answers(YES)).status_code == 422 and not Decision.objects.exists()


def test_a_run_that_breaks_off_breaks_off_and_an_agent_that_refuses_is_said(web: str, script: Script) -> None:
    agent = script(pausing(), Answer([started(), call(), RESET]))
    with bridge():
        cut = caller(web, agent).run(answers(YES))
    assert cut.status_code == 200 and b"RUN_FINISHED" not in cut.content
    assert Resume.objects.get().state == "outcome_unknown"


def test_an_agent_that_refuses_the_answers_is_said(web: str, script: Script) -> None:
    agent = script(pausing(), Answer([b'{"no":1}'], status=422))
    with bridge():
        told = caller(web, agent).run(answers(YES))
    assert (told.status_code, told.json()["code"]) == (502, "not_delivered")
    assert told.json()["links"][0].endswith(f"/cases/{Case.objects.get().code}/")


def test_a_pause_after_the_answer_is_the_next_case(web: str, script: Script) -> None:
    again = Answer([started(), result(), call(id_="tc-2"), finished(interrupt("int-2", "tc-2"))])
    agent = script(pausing(), again, finishing())
    asking = caller(web, agent)
    with bridge():
        assert b"int-2" in asking.run(answers(YES)).content
        assert asking.run(answers({**YES, "interruptId": "int-2"}, run_id="run-3")).status_code == 200
        assert b"int-2" in asking.run(answers(YES, run_id="run-4")).content
    assert len(agent.posts) == 3 and Run.objects.filter(kind="resumed").count() == 2


def test_the_trail_says_whose_answer_it_was_and_what_was_not_passed_on(web: str, script: Script) -> None:
    asking = caller(web, script(pausing(), finishing()))
    new = [{"id": "u-9", "role": "user", "content": "and pay me too"}]
    with bridge():
        asking.run(answers({**YES, "metadata": {"x": 1}}, messages=new, forwardedProps={"command": {"resume": 1}}))
    said = AuditEntry.objects.get(verb="task.decided")
    assert said.sentence.startswith("The caller approved")
    told = json.loads(AuditEntry.objects.get(verb="resume.asked").data)
    assert told["leftOut"] == ["messages", "forwardedProps", "/resume/0/metadata"] and told["runId"] == "run-2"


def test_the_desk_shows_a_callers_decision_and_its_trail_holds(
    web: str, script: Script, alice: User, client: Client
) -> None:
    with bridge():
        caller(web, script(pausing(), finishing())).run(answers(YES))
    client.force_login(alice)
    page = client.get(f"/cases/{Case.objects.get().code}/")
    assert page.status_code == 200 and ">caller<" in page.content.decode()
    assert verification.verify(checks=[verifying.checks]).findings == []


def test_it_is_off_until_somebody_sets_it_and_stays_on_the_trail() -> None:
    command = ["add_agent", "chat", "http://127.0.0.1:9/"]
    for more, expected in (([], False), (["--caller-decides"], True), ([], True), (["--no-caller-decides"], False)):
        call_command(*command, *more, stdout=StringIO())
        assert Agent.objects.get().caller_decides is expected
    told = [json.loads(each.data).get("callerDecides") for each in AuditEntry.objects.filter(verb="agent.changed")]
    assert told == [True, None, False]

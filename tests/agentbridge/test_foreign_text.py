"""Text that no column of text and no page can hold: NUL and half a surrogate pair, wherever an agent may say them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agentbridge import links
from agentbridge.models import Agent, Incident
from agentbridge.ways import callers
from agentbridge.wire.toolcalls import same_arguments
from approvals.models import Case, User
from tests.agentbridge.recordings import Tape, case_of
from tests.bridge_work import Script, delivery, paused_case, register, work
from tests.people import decide, only_task
from tests.scripted_agent import Answer, call, failed, finished, finishing, frame, interrupt, pausing, result, started

ODD = "a\x00b\ud800c"
SHOWN = r"a\u0000b\ud800c"
ODD_CALL = call(ODD, args=json.dumps({ODD: ODD}), id_=ODD)
TOLD = [{"id": "c", "role": "assistant", "toolCalls": [
    {"id": "tc-1", "type": "function", "function": {"name": ODD, "arguments": ODD}}]}]  # fmt: skip
PAUSES = {
    "everything asked": [ODD_CALL, finished(interrupt(ODD, ODD, reason=ODD, message=ODD, metadata={ODD: ODD}))],
    "who and until when": [call(), finished(interrupt(subagentRunId=ODD, expiresAt=ODD))],
    "arguments that are none": [call(ODD, args=ODD), call(ODD, args=ODD + "?"), finished(interrupt())],
    "a schema's reference": [call(), finished(interrupt(responseSchema={"$ref": "#/" + ODD}))],
    "a schema's members": [call(), finished(interrupt(responseSchema={"properties": {ODD: {"enum": [ODD]}}}))],
    "the history": [frame(type="MESSAGES_SNAPSHOT", messages=TOLD), call(), finished(interrupt())],
    "an error after it": [call(), finished(interrupt()), failed(ODD, ODD)],
    "an announcement": [
        frame(type="CUSTOM", name="on_interrupt", value=json.dumps({"message": ODD}), rawEvent={"id": ODD}),
        frame(type="RUN_FINISHED", threadId="__THREAD__", runId="__RUN__"),
    ],
}
ENDS = {
    "an error": ("failed", [started(), failed(ODD, ODD)]),
    "a version": ("succeeded", [frame(type="RUN_STARTED", protocolVersion=ODD, parentRunId=ODD), finished()]),
    "an error after the end": ("succeeded", [started(), finished(), failed(ODD, ODD)]),
    "names nobody knows": ("succeeded", [started(), frame(type=ODD), frame(type="RAW", **{ODD: 1}), finished()]),
    "another run inside": ("rejected", [started(), frame(type="RUN_STARTED", runId=ODD)]),
    "an orphan": ("succeeded", [started(), result(ODD, ODD, ODD), finished()]),
}
ANSWERS = {
    "refused": ("rejected", [failed(ODD, ODD)], "agent_error", []),
    "ran after a no": ("rejected", [result(ODD), finished()], "finished", ["denied_but_ran"]),
    "failed after it ran": ("approved", [result(ODD), failed(ODD)], "agent_error", ["failed_after_result"]),
    "something else ran": ("approved", [call(args=ODD), result(ODD), finished()], "finished", ["other_arguments"]),
}


@pytest.fixture
def tape(payments: Any, alice: User) -> Tape:
    return Tape(payments, alice)


@pytest.mark.django_db
@pytest.mark.parametrize("name", PAUSES)
def test_a_pause_that_says_it_is_a_case_with_pages(tape: Tape, alice: User, client: Client, name: str) -> None:
    run = tape.record(started(), *PAUSES[name])
    client.force_login(alice)
    case = case_of(run)
    pages = ["/queue/?group=tool", f"/cases/{case.code}/", links.run_page(run), f"/cases/{case.code}/record/"]
    assert [client.get(page).status_code for page in pages] == [200] * 4
    assert case.state == "open"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ENDS)
def test_a_run_that_says_it_ends_as_any_other(tape: Tape, alice: User, client: Client, name: str) -> None:
    status, parts = ENDS[name]
    run = tape.record(*parts)
    client.force_login(alice)
    assert (run.status, client.get(links.run_page(run)).status_code) == (status, 200)


@pytest.mark.django_db
def test_tools_of_odd_names_are_one_group_of_the_queue(tape: Tape, alice: User, client: Client) -> None:
    for thread in ("one", "two"):
        tape.record(started(), ODD_CALL, finished(interrupt(call_id=ODD)), thread=thread)
    client.force_login(alice)
    page = client.get("/queue/?group=tool").content.decode()
    assert r"\ud800c" in page and "tool=a%00b%5Cud800c" in page


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_says_it_ends_its_delivery(
    script: Script, alice: User, carol: User, client: Client, name: str
) -> None:
    verdict, parts, state, incidents = ANSWERS[name]
    case = paused_case(register(script(pausing(), Answer([started(), *parts]))), alice)
    decide(only_task(case), alice, verdict)
    work()
    assert (delivery(case).state, list(Incident.objects.values_list("kind", flat=True))) == (state, incidents)
    client.force_login(carol)
    pages = [f"/cases/{case.code}/", "/deliveries/", "/audit/", f"/cases/{case.code}/record/"]
    assert [client.get(page).status_code for page in pages] == [200] * 4


@pytest.mark.django_db
def test_a_sentence_shows_what_it_quotes(tape: Tape) -> None:
    run = tape.record(started(), call(), finished(interrupt(expiresAt=ODD)))
    [flag] = [flag for flag in only_task(Case.objects.get()).flags if flag["slug"] == "unreadable-expiry"]
    assert SHOWN in flag["sentence"] and run.status == "interrupted"


@pytest.mark.django_db(transaction=True)
def test_a_caller_names_its_run_as_it_likes(script: Script, alice: User) -> None:
    agent = script(pausing(), finishing())
    case = paused_case(register(agent, caller_decides=True), alice)
    run_id = ODD * 1_000
    yes = {"interruptId": "int-1", "status": "resolved", "payload": {"approved": True}}
    body = json.dumps({"threadId": "thread-1", "runId": run_id, "messages": [], "resume": [yes]}).encode()
    callers.answered(Agent.objects.get(), body, now=timezone.now())
    work()
    assert (delivery(case).state, agent.posts[1].json["runId"]) == ("finished", run_id)


def test_arguments_are_compared_however_deep_they_are() -> None:
    deep = "[" * 9_000 + "1" + "]" * 9_000
    assert same_arguments(deep, deep.replace("1", "1.0")) and not same_arguments(deep, deep.replace("1", "true"))

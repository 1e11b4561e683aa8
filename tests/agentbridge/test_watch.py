"""The outcome watch: every difference between what was decided and what came back has a name (T-73 to T-82)."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from agentbridge.delivery import settling, watch
from agentbridge.models import Incident
from approvals.models import Case, User
from tests.bridge_work import Script, ask, delivery, paused_case, register, work
from tests.people import decide, only_task
from tests.scripted_agent import Answer, call, failed, finished, finishing, frame, interrupt, pausing, result, started

pytestmark = pytest.mark.django_db(transaction=True)
SILENT = "approved_not_run"
ORIGINAL, EDITED, OTHER = '{"amount": 12.50}', '{"amount": 9}', '{"amount": 9999}'
LONG = f"{'paid ' * 5000}. The tool call was denied."
WITH_OTHERS = "Executed, with other arguments than were approved"
HALF_A_CALL = call(args='{"amount": 1').split(b'data: {"type":"TOOL_CALL_END"')[0]


def retold(args: str, *results: str) -> bytes:
    """A snapshot of the messages in which the call of these stories has these arguments, and these results."""
    function = {"name": "pay", "arguments": args}
    said = {"id": "m-0", "role": "assistant", "toolCalls": [{"id": "tc-1", "type": "function", "function": function}]}
    told = [{"id": text, "role": "tool", "toolCallId": "tc-1", "content": text} for text in results]
    return frame(type="MESSAGES_SNAPSHOT", messages=[said, *told])


def seen(script: Script, alice: User, verdict: str, *parts: bytes, **more: Any) -> tuple[str, list[str], Case]:
    """What is concluded on the task, and the kinds of incident, when the agent answers with this stream."""
    agent = script(pausing(), Answer([started(), *parts]))
    case = paused_case(register(agent), alice)
    decide(only_task(case), alice, verdict, **more)
    work()
    kinds = Incident.objects.filter(case=case).order_by("pk").values_list("kind", flat=True)
    return only_task(case).conclusion, list(kinds), case


STORIES = [
    pytest.param("approved", [result(), finished()], "Executed as approved.", [], id="done"),
    pytest.param("approved", [finished()], "Accepted, no evidence", ["approved_not_run"], id="nothing ran"),
    pytest.param("approved", [result("It was denied."), finished()], "did not run", ["approved_not_run"], id="no"),
    pytest.param("rejected", [result("Tool call was denied."), finished()], "Denied; the agent says", [], id="denied"),
    pytest.param("rejected", [finished()], "Denied; nothing ran", [], id="denied in silence"),
    pytest.param("rejected", [result("paid 12.50"), finished()], "came back without", ["denied_but_ran"], id="ran"),
    pytest.param("cancelled", [result("paid"), finished()], "a result came", ["denied_but_ran"], id="cancelled, ran"),
    pytest.param("approved", [result(LONG), finished()], "Executed as approved.", [], id="a word in a long result"),
    pytest.param("rejected", [result(LONG), finished()], "came back without", ["denied_but_ran"], id="ran at length"),
    pytest.param("approved", [result(), failed("boom")], "the run failed", ["failed_after_result"], id="then failed"),
    pytest.param("approved", [failed("no")], "refused the answers", [], id="refused"),
    pytest.param("approved", [result(id_="tc-9"), finished()], "no evidence", [SILENT, "other_call_ran"], id="else"),
    pytest.param("approved", [call(args=OTHER), result(), finished()], WITH_OTHERS, ["other_arguments"], id="other"),
    pytest.param("approved", [retold(OTHER), result(), finished()], WITH_OTHERS, ["other_arguments"], id="retold"),
    pytest.param("approved", [retold(ORIGINAL), result(), finished()], "Executed as approved.", [], id="retold alike"),
    pytest.param("approved", [call(args=OTHER), result(), failed("boom")], f"{WITH_OTHERS}; then the run failed",
                 ["failed_after_result", "other_arguments"], id="other, then failed"),
    pytest.param("approved", [HALF_A_CALL], "not known", [], id="broken off in the arguments"),
    pytest.param("approved", [retold(ORIGINAL, "paid"), finished()], "Executed as approved.", [], id="told at the end"),
    pytest.param("approved", [call(), result(), finished()], "Executed as approved.", [], id="the same again"),
    pytest.param("approved", [call(), finished(interrupt())], "no evidence", [SILENT, "asked_again"], id="again"),
    pytest.param("approved", [result()], "not known", [], id="no ending"),
]  # fmt: skip


@pytest.mark.parametrize(("verdict", "parts", "conclusion", "kinds"), STORIES)
def test_promise_and_outcome(
    script: Script, alice: User, verdict: str, parts: list[bytes], conclusion: str, kinds: list[str]
) -> None:
    said, found, _case = seen(script, alice, verdict, *parts)
    assert conclusion in said
    assert found == kinds


@pytest.mark.parametrize("said", ["wrong account", '{"approved": false}'])
def test_our_own_no_kept_as_the_result_is_no_deed(script: Script, alice: User, said: str) -> None:
    told, kinds, _case = seen(script, alice, "rejected", retold(ORIGINAL, said), finished(), comment="wrong account")
    assert told.startswith("Denied; nothing ran") and kinds == []


def test_our_own_yes_kept_as_the_result_is_no_execution(script: Script, alice: User) -> None:
    told, kinds, _case = seen(script, alice, "approved", retold(ORIGINAL, '{"approved":true}'), finished())
    assert told.startswith("Accepted, no evidence") and kinds == ["approved_not_run"]


def test_a_snapshot_without_arguments_tells_of_no_others(script: Script, alice: User) -> None:
    told, kinds, _case = seen(script, alice, "approved", retold(""), result(), finished())
    assert (told, kinds) == ("Executed as approved.", [])


def test_an_edit_that_ran_is_said_so(script: Script, alice: User) -> None:
    said, kinds, _case = seen(script, alice, "approved", call(args=EDITED), result(), finished(), edits=EDITED)
    assert (said, kinds) == ("Executed as approved, with the edits.", [])


def test_the_arguments_from_before_the_edit_prove_nothing(script: Script, alice: User) -> None:
    """LangGraph streams the original call again and runs the edited one."""
    said, kinds, _case = seen(script, alice, "approved", call(args=ORIGINAL), result(), finished(), edits=EDITED)
    assert ("which ran is not shown" in said, kinds) == (True, [])


@pytest.mark.parametrize(("text", "kinds"), [("paid", []), ("paid again", ["ran_twice"])])
def test_a_second_attempt_with_another_result_ran_twice(
    script: Script, alice: User, olga: User, text: str, kinds: list[str]
) -> None:
    again = Answer([started(), result(text, message="m-2"), finished()])
    agent = script(pausing(), Answer([started(), result()]), again)
    case = paused_case(register(agent), alice)
    decide(only_task(case), alice)
    work()
    settling.resolve_doubt(case, action="resend", reason="try again", by=olga, now=timezone.now())
    work()
    assert delivery(case).state == "finished"
    assert list(Incident.objects.values_list("kind", flat=True)) == kinds


def test_a_call_that_runs_a_round_later_was_approved(script: Script, alice: User) -> None:
    asks_more = Answer([started(), call("look", id_="tc-2"), finished(interrupt("int-2", "tc-2"))])
    script_of_both = Answer([started(), result(), result("seen", "tc-2", "m-2"), finished()])
    first = paused_case(register(script(pausing(), asks_more, script_of_both)), alice)
    decide(only_task(first), alice)
    work()
    decide(only_task(Case.objects.latest("pk")), alice)
    work()
    task = only_task(first)
    assert (task.conclusion, task.flags) == ("Accepted; the result came in a later run of the thread.", [])


def test_a_second_result_in_a_later_run_was_approved_by_nobody(script: Script, alice: User) -> None:
    payer = register(script(pausing(), finishing(), Answer([started(), result("paid again"), finished()])))
    case = paused_case(payer, alice)
    decide(only_task(case), alice)
    work()
    ask(payer, alice, thread_id=delivery(case).thread.thread_id)
    work()
    assert [flag["slug"] for flag in only_task(case).flags] == ["executed-without-approval"]


@pytest.mark.parametrize(
    "text",
    [
        "Tool call was denied",
        '{"status": "not run", "because": "a person said no"}',
        "refund to ann not made",
        "거부됨",
    ],
)
def test_a_denial_is_read_as_one_in_many_words(text: str) -> None:
    assert watch.NOT_RUN.search(text)


@pytest.mark.parametrize("text", ["refunded 120.5 to ann", "Sent. Do not reply to this address.", '{"status": "done"}'])
def test_a_deed_is_not_taken_for_a_denial(text: str) -> None:
    assert not watch.NOT_RUN.search(text)


@pytest.mark.parametrize("text", ["cancelled the subscription", "claim 12 rejected", "order refused and sent back"])
def test_an_approved_tool_may_cancel_or_reject_things(text: str) -> None:
    assert not watch.CALL_NOT_RUN.search(text)

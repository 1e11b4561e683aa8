"""Both vocabularies: a pause as a case, decisions as answers."""

from __future__ import annotations

from typing import Any

import pytest

from agentbridge import translation
from agentbridge.models import Run
from approvals import exhibits, jsontext
from approvals.models import Case, Task, User
from tests.bridge_work import Script, paused_case, register
from tests.people import decide, in_seconds
from tests.scripted_agent import call, interrupt, pausing

pytestmark = pytest.mark.django_db(transaction=True)


def opened(script: Script, alice: User, *interrupts: Any, calls: bytes = call(), **more: Any) -> Case:
    return paused_case(register(script(pausing(*interrupts, calls=calls))), alice, **more)


def first(case: Case) -> Task:
    return case.tasks.order_by("position")[0]


def shown(case: Case) -> exhibits.Content:
    return exhibits.load(first(case).exhibits.get().body)


def test_names_go_along_as_they_are(script: Script, alice: User) -> None:
    case = opened(script, alice, interrupt("int/\u00e9 1"))
    run = Run.objects.get()
    assert translation.refs_of(first(case)) == {
        "agent": "payer", "threadId": "thread-1", "runId": run.run_id, "interruptId": "int/\u00e9 1",
        "toolCallId": "tc-1", "gatedCallId": "tc-1", "subagentRunId": None,
    }  # fmt: skip


def test_a_call_that_no_event_knows_is_still_a_call(script: Script, alice: User) -> None:
    tool = shown(opened(script, alice, interrupt(call_id="tc-9"))).tool
    assert tool is not None and (tool.id, tool.state) == ("tc-9", "missing")


def test_a_question_without_a_call_has_no_proposal(script: Script, alice: User) -> None:
    question = {"id": "q", "reason": "input_required", "message": "Which account?"}
    case = opened(script, alice, question, calls=b"")
    assert (shown(case).tool, shown(case).message, first(case).tool) == (None, "Which account?", "")


def test_the_definition_of_an_offered_tool_is_frozen_as_it_was_given(script: Script, alice: User) -> None:
    definition = '{"name": "pay", "description": "", "parameters": {"n": 1.0}}'
    case = opened(script, alice, run_input_text=f'{{"tools": [{definition}], "messages": []}}')
    assert shown(case).tool_definition == definition


def test_the_deadline_is_read_and_kept_as_received(script: Script, alice: User) -> None:
    task = first(opened(script, alice, interrupt(expiresAt="2999-01-01T00:00:00+09:00")))
    assert (task.deadline and task.deadline.isoformat(), task.deadline_text) == (
        "2998-12-31T15:00:00+00:00", "2999-01-01T00:00:00+09:00",
    )  # fmt: skip


def test_the_conversation_is_part_of_what_is_shown(script: Script, alice: User) -> None:
    roles = [jsontext.loads(text)["role"] for text in shown(opened(script, alice)).messages]
    assert roles == ["user", "assistant"]


def test_answers_come_in_the_order_of_the_questions(script: Script, alice: User) -> None:
    calls = call(id_="tc-1") + call(id_="tc-2")
    case = opened(script, alice, interrupt("b", "tc-1"), interrupt("a", "tc-2"), calls=calls)
    for task in case.tasks.order_by("-position"):
        decide(task, alice, "rejected")
    assert [answer.interrupt_id for answer in translation.answered(case)] == ["b", "a"]


def test_closing_cancels_what_is_late_or_open(script: Script, alice: User) -> None:
    late = interrupt("late", "tc-1", expiresAt=in_seconds(3600).isoformat())
    case = opened(script, alice, late, interrupt("decided", "tc-1"), interrupt("open", "tc-1"))
    for position in (0, 1):
        decide(case.tasks.get(position=position), alice)
    answers = translation.answered(case, closing_at=in_seconds(3600))
    assert [(answer.interrupt_id, answer.verdict) for answer in answers] == [
        ("late", "cancelled"), ("decided", "approved"), ("open", "cancelled"),
    ]  # fmt: skip

"""Interrupts as they stand in an outcome, good and odd ones."""

from __future__ import annotations

from typing import Any

import pytest

from agentbridge.wire.record import InterruptView
from tests.agentbridge.streams import STARTED, Told, event, finished, paused, read


def only(**members: Any) -> InterruptView:
    return read(STARTED, paused({"id": "i", "reason": "r", **members})).run.interrupts[0]


def test_members_keep_their_exact_text() -> None:
    raw = '{"id":"i","reason":"x","responseSchema":{ "maximum":1.0},"metadata":{"n":1e2},"message":"\\u0041"}'
    frame = (
        '{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[ ' + raw + " ]}}"
    )
    found = read(STARTED, frame).run.interrupts[0]
    assert (found.raw, found.response_schema) == (raw, '{ "maximum":1.0}')
    assert (found.metadata, found.message, found.problems) == ('{"n":1e2}', "A", [])


@pytest.mark.parametrize("id_", [{}, {"id": None}, {"id": 77}, {"id": ""}, {"id": ["a"]}])
def test_without_a_usable_id_it_is_listed_and_none_is_made_up(id_: dict[str, Any]) -> None:
    found = read(STARTED, paused({"reason": "r", "message": "hello", **id_})).run.interrupts[0]
    assert (found.id, found.message, len(found.problems)) == (None, "hello", 1)


def test_a_member_that_is_no_object_is_listed() -> None:
    told = read(STARTED, paused("just a string", {"id": "i", "reason": "r"}))
    assert [(one.id, one.raw[:6]) for one in told.run.interrupts] == [(None, '"just '), ("i", '{"id":')]
    assert told.run.status == "interrupted"


@pytest.mark.parametrize(
    ("reason", "problems"), [({}, 1), ({"reason": None}, 1), ({"reason": 3}, 1), ({"reason": ""}, 0)]
)
def test_a_missing_reason_blocks_nothing(reason: dict[str, Any], problems: int) -> None:
    found = read(STARTED, paused({"id": "i", **reason})).run.interrupts[0]
    assert (found.id, found.reason, len(found.problems)) == ("i", "", problems)


@pytest.mark.parametrize("schema", ["true", "false", '"object"', "[1, 2]"])
def test_a_schema_that_is_no_object_is_kept_as_it_came(schema: str) -> None:
    asked = '{"id":"i","reason":"r","responseSchema":' + schema + "}"
    frame = '{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[' + asked + "]}}"
    found = read(STARTED, frame).run.interrupts[0]
    assert (found.response_schema, len(found.problems)) == (schema, 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("soon", "soon"),
        (1893456000, "1893456000"),
        (True, "true"),
        ({"at": "2030"}, '{"at": "2030"}'),
        ("", ""),
        (None, None),
    ],
)
def test_a_deadline_is_kept_as_received(value: Any, text: str | None) -> None:
    assert only(expiresAt=value).expires_at == text


def test_null_members_are_absent_and_unknown_ones_left_out() -> None:
    told = read(STARTED, paused({"id": "i", "reason": "r", "metadata": None, "responseSchema": None, "priority": 1}))
    found = told.run.interrupts[0]
    assert (found.metadata, found.response_schema, found.problems, told.found()) == (None, None, [], [])
    assert '"priority": 1' in found.raw


def test_snake_case_members_are_understood() -> None:
    found = only(tool_call_id="tc", response_schema={"type": "object"})
    assert (found.tool_call_id, found.response_schema) == ("tc", '{"type": "object"}')


def test_two_interrupts_with_one_id_are_both_shown() -> None:
    told = read(STARTED, paused({"id": "i", "reason": "r"}, {"id": "i", "reason": "s"}))
    assert [(one.position, one.id) for one in told.run.interrupts] == [(0, "i"), (1, "i")]
    assert told.found() == [("C-34", "2 RUN_FINISHED /outcome")]


def test_unknown_members_of_an_outcome_are_left_out() -> None:
    told = read(STARTED, finished({"type": "success", "mood": "good", "pendingToolCallIds": ["tc-1"]}))
    assert (told.run.pending_tool_call_ids, told.found()) == (("tc-1",), [])


def subagent(kind: str, **members: Any) -> Told:
    started = event("SUBAGENT_STARTED", subagentRunId="s", name="buyer")
    return read(STARTED, started, event(kind, subagentRunId="s", **members), paused({"id": "i", "reason": "r"}))


@pytest.mark.parametrize(
    ("kind", "members", "status"),
    [
        ("SUBAGENT_FINISHED", {}, "succeeded"),
        ("SUBAGENT_FINISHED", {"outcome": {"type": "suspended"}}, "suspended"),
        ("SUBAGENT_FINISHED", {"outcome": {"type": "on holiday"}}, "unknown"),
        ("SUBAGENT_ERROR", {"message": "no"}, "failed"),
    ],
)
def test_how_a_subagent_ends(kind: str, members: dict[str, Any], status: str) -> None:
    told = subagent(kind, **members)
    assert (told.run.subagents["s"].status, told.run.status, told.found()) == (status, "interrupted", [])


def test_a_subagent_that_is_never_closed_is_noted() -> None:
    told = read(STARTED, event("SUBAGENT_STARTED", subagentRunId="s", name="buyer"), finished())
    assert [rule for rule, _ in told.found()] == ["C-10"]

"""Single events and inputs: what is left out, what is noted, and bytes that stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import EventType, RunAgentInput

from agentbridge.wire.events import EVENTS
from agentbridge.wire.protocol import Event, Problem, ProtocolError, parse_event, read_input, run_input


def parsed(**members: Any) -> Event:
    found = parse_event(json.dumps(members))
    assert isinstance(found, Event)
    return found


def notes(event: Event) -> list[tuple[str, str, str]]:
    return [(note.rule, note.severity, note.member) for note in event.notes]


def test_every_event_of_the_official_package_is_known() -> None:
    theirs = {kind.value for kind in EventType if not kind.value.startswith("THINKING")}
    assert set(EVENTS) == theirs


def test_unknown_members_are_left_out_and_noted() -> None:
    event = parsed(type="RUN_ERROR", message="no", threadId="t", toString=1)
    assert event.body == {"type": "RUN_ERROR", "message": "no"}
    assert notes(event) == [("C-2", "info", "/threadId"), ("C-2", "info", "/toString")]


def test_null_reads_as_absent_where_a_member_is_optional_and_as_data_elsewhere() -> None:
    event = parsed(type="CUSTOM", name="n", value=None, metadata=None, timestamp=None)
    assert event.body == {"type": "CUSTOM", "name": "n", "value": None}
    assert {severity for _, severity, _ in notes(event)} == {"info"}


@pytest.mark.parametrize(
    "members",
    [
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": None},
        {"type": "TOOL_CALL_ARGS", "toolCallId": 5, "delta": "x"},
        {"type": "STATE_DELTA", "delta": {"op": "add"}},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "a", "content": []},
    ],
)
def test_an_event_without_what_it_needs_has_no_effect(members: dict[str, Any]) -> None:
    found = parse_event(json.dumps(members))
    assert isinstance(found, Problem)
    assert (found.type, found.note.rule, found.note.severity) == (members["type"], "C-3", "error")


@pytest.mark.parametrize(
    ("name", "value"),
    [("timestamp", "1"), ("timestamp", 1.5), ("timestamp", True), ("metadata", []), ("role", "narrator"), ("name", 7)],
)
def test_an_optional_member_of_the_wrong_kind_is_left_out(name: str, value: Any) -> None:
    event = parsed(type="TEXT_MESSAGE_START", messageId="m", **{name: value})
    assert name not in event.body
    assert notes(event) == [("C-3", "error", f"/{name}")]


def test_a_run_boundary_counts_without_its_ids() -> None:
    assert notes(parsed(type="RUN_STARTED", threadId="t")) == [("C-3", "warning", "/runId")]


def test_snake_case_is_understood_and_said() -> None:
    event = parse_event('{"type":"TOOL_CALL_START","tool_call_id":"c","tool_call_name":"n","raw_event":{"a":1.0}}')
    assert isinstance(event, Event)
    assert (event.body["toolCallId"], event.source("rawEvent")) == ("c", '{"a":1.0}')
    assert {rule for rule, _, _ in notes(event)} == {"C-3"}


@pytest.mark.parametrize(
    "text", ["", "[DONE]", "null", "[]", "{}", '{"type":1}', '{"type":"RAW","event":Infinity}', "{}{}"]
)
def test_a_frame_of_which_no_event_can_be_made(text: str) -> None:
    found = parse_event(text)
    assert isinstance(found, Problem)
    assert (found.type, found.note.rule) == ("", "C-29b")


def test_an_unknown_event_is_named_and_quoted_with_a_mark_where_it_is_cut() -> None:
    found = parse_event(json.dumps({"type": "ERROR_2", "text": "x" * 999}))
    assert isinstance(found, Problem)
    assert (found.type, found.note.rule, found.note.severity) == ("ERROR_2", "C-2", "info")
    assert found.note.text.endswith("…")


def test_the_exact_text_of_a_member_is_the_last_of_its_name() -> None:
    event = parse_event('{"type":"CUSTOM","name":"n","value":1,"value": {"b":1e2, "a":"\\u0000"} }')
    assert isinstance(event, Event)
    assert event.source("value") == '{"b":1e2, "a":"\\u0000"}'
    assert event.source("rawEvent") is None


BODY = (
    '{"threadId":"t\\u0000","runId":"r","messages":[ {"id":"1" ,"role":"user","content":"\\ud800"} ],'
    '"state":{"n":1.0},"forwardedProps":{"b":1,"a":2}}'
)


def test_an_input_is_read_and_written_without_losing_a_byte() -> None:
    found = read_input(BODY)
    assert (found.thread_id, found.messages) == ("t\0", ('{"id":"1" ,"role":"user","content":"\\ud800"}',))
    sent = run_input(
        thread_id=found.thread_id, run_id="r2", messages=found.messages, state=found.state, tools=found.tools,
        context=found.context, forwarded_props=found.forwarded_props, resume=None, protocol_version="1.0",
    )  # fmt: skip
    for text in (*found.messages, '"state":{"n":1.0}', '"tools":[]', '"context":[]', '"forwardedProps":{"b":1,"a":2}'):
        assert text.encode() in sent
    assert b'"resume"' not in sent


def test_what_we_write_is_an_input_to_the_official_package() -> None:
    resume = '[{"interruptId":"i","status":"resolved","payload":false}]'
    sent = run_input(
        thread_id="t", run_id="r", messages=['{"id":"1","role":"user","content":"é"}'], state=None, tools="[]",
        context="[]", forwarded_props="{}", resume=resume, protocol_version=None,
    )  # fmt: skip
    found = RunAgentInput.model_validate_json(sent)
    assert found.resume is not None and found.resume[0].payload is False
    assert b"null" not in sent


def test_null_members_of_an_input_count_as_absent() -> None:
    found = read_input('{"threadId":"t","runId":"r","messages":[],"state":null,"tools":null,"resume":null}')
    assert (found.state, found.tools, found.resume) == (None, "[]", None)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("[]", ""),
        ("{", ""),
        ('{"runId":"r","messages":[]}', "threadId"),
        ('{"threadId":"t","runId":7,"messages":[]}', "runId"),
        ('{"threadId":"t","runId":"r"}', "messages"),
        ('{"threadId":"t","runId":"r","messages":["hi"]}', "messages"),
        ('{"threadId":"t","runId":"r","messages":[],"tools":{}}', "tools"),
        ('{"threadId":"t","runId":"r","messages":[],"resume":"x"}', "resume"),
    ],
)
def test_an_input_that_does_not_fit_names_the_member(text: str, field: str) -> None:
    with pytest.raises(ProtocolError) as error:
        read_input(text)
    assert error.value.field == field


def test_a_partial_input_may_lack_what_we_make() -> None:
    assert read_input("{}", partial=True).thread_id == ""

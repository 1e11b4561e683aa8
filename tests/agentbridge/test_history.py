"""What a resume sends back: messages and state, with every byte that came whole."""

from __future__ import annotations

from typing import Any

import pytest

from agentbridge.wire.history import outgoing
from agentbridge.wire.record import RunInput, RunView
from approvals import jsontext
from tests.agentbridge.streams import INPUT, STARTED, Told, call, event, finished, paused, read

USER = INPUT.messages[0]


def said(told: Told) -> list[Any]:
    """The messages after the first one, as values."""
    assert told.run.messages[0] == USER
    return [jsontext.plain(jsontext.loads(text)) for text in told.run.messages[1:]]


def ids(told: Told) -> list[str]:
    return [jsontext.loads(text)["id"] for text in told.run.messages]


def text(id_: str, *deltas: str, **more: Any) -> list[dict[str, Any]]:
    content = [event("TEXT_MESSAGE_CONTENT", messageId=id_, delta=delta) for delta in deltas]
    return [event("TEXT_MESSAGE_START", messageId=id_, **more), *content, event("TEXT_MESSAGE_END", messageId=id_)]


def spoken(id_: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def snapshot(*messages: Any) -> dict[str, Any]:
    return event("MESSAGES_SNAPSHOT", messages=list(messages))


def test_events_become_messages_in_order() -> None:
    result = event("TOOL_CALL_RESULT", messageId="m3", toolCallId="tc-1", content="paid")
    told = read(STARTED, *text("m1", "I will ", "pay"), *call('{"a":1.0}', parentMessageId="m1"), result, finished())
    assert said(told) == [
        {"id": "m1", "role": "assistant", "content": "I will pay", "toolCalls": [spoken("tc-1", "pay", '{"a":1.0}')]},
        {"id": "m3", "role": "tool", "toolCallId": "tc-1", "content": "paid"},
    ]


def test_a_call_without_a_parent_is_a_message_of_its_own() -> None:
    told = read(
        STARTED, *call("{}"), *call("[]", id_="tc-2"), *call("1", id_="tc-3", parentMessageId="tc-2"), finished()
    )
    assert [(message["id"], [one["id"] for one in message["toolCalls"]]) for message in said(told)] == [
        ("tc-1", ["tc-1"]),
        ("tc-2", ["tc-2", "tc-3"]),
    ]


def test_a_parent_that_is_no_assistant_holds_no_call() -> None:
    told = read(STARTED, *call("{}", parentMessageId="u1"), finished())
    assert [message["id"] for message in said(told)] == ["tc-1"]


def test_a_call_that_the_history_holds_is_not_told_twice() -> None:
    held = '{"id":"m1", "role":"assistant", "toolCalls":[' + jsontext.dumps(spoken("tc-1", "pay", "{ }")) + "]}"
    told = read(STARTED, *call("{}"), paused(), run_input=RunInput(thread_id="t", run_id="r", messages=(USER, held)))
    assert told.run.messages == [USER, held]


def test_a_repeated_result_is_one_message() -> None:
    results = [event("TOOL_CALL_RESULT", messageId=f"m{n}", toolCallId="tc-1", content="same") for n in (1, 2)]
    assert [message["role"] for message in said(read(STARTED, *call("{}"), *results, finished()))] == [
        "assistant",
        "tool",
    ]


def test_reasoning_goes_into_the_history_and_older_thinking_too() -> None:
    thinking = [
        event("THINKING_TEXT_MESSAGE_START"),
        event("THINKING_TEXT_MESSAGE_CONTENT", delta="hm"),
        event("THINKING_TEXT_MESSAGE_END"),
    ]
    told = read(STARTED, event("THINKING_START", title="t"), *thinking, event("THINKING_END"), *thinking, paused())
    assert [(message["role"], message["content"]) for message in said(told)] == [
        ("reasoning", "hm"),
        ("reasoning", "hm"),
    ]
    assert (told.run.status, told.found()) == ("interrupted", [])


def test_encrypted_values_stay_on_their_targets() -> None:
    def value(subtype: str, entity: str, **more: str) -> dict[str, Any]:
        return event("REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=entity, encryptedValue="e", **more)

    told = read(
        STARTED, *call("{}"), value("message", "u1", encryptedValueType="x"), value("tool-call", "tc-1"),
        value("message", "u1"), value("message", "nobody"), finished(),
    )  # fmt: skip
    user, assistant = (jsontext.loads(message) for message in told.run.messages)
    assert (user["encryptedValue"], assistant["toolCalls"][0]["encryptedValue"]) == ("e", "e")
    assert "encryptedValueType" not in user
    assert [rule for rule, _ in told.found()] == ["C-24"]


def test_a_snapshot_keeps_its_bytes_and_is_reconciled_by_id() -> None:
    exact = '{"id" : "m9","role":"assistant","content":"\\u00e9","n":1.0}'
    frame = '{"type":"MESSAGES_SNAPSHOT","messages":[ ' + exact + " ," + USER + " ]}"
    told = read(STARTED, *text("gone", "x"), frame, finished())
    assert told.run.messages == [USER, exact]


def test_a_snapshot_spares_reasoning_unless_it_tells_some() -> None:
    thought = [
        event("REASONING_MESSAGE_START", messageId="th", role="reasoning"),
        event("REASONING_MESSAGE_END", messageId="th"),
    ]
    user, other = {"id": "u1", "role": "user"}, {"id": "th2", "role": "reasoning", "content": ""}
    assert ids(read(STARTED, *thought, snapshot(user), finished())) == ["u1", "th"]
    assert ids(read(STARTED, *thought, snapshot(user, other), finished())) == ["u1", "th2"]


def test_events_go_on_after_a_snapshot() -> None:
    held = {
        "id": "m1",
        "role": "assistant",
        "content": "a",
        "toolCalls": [spoken("tc-0", "x", "")],
        "metadata": {"k": 1},
    }
    more = text("m1", "b", metadata={"k": 2, "l": 3})
    told = read(STARTED, snapshot(held), *more, *call("{}", parentMessageId="m1"), finished())
    message = jsontext.plain(jsontext.loads(told.run.messages[0]))
    assert (message["content"], message["metadata"]) == ("ab", {"k": 2, "l": 3})
    assert [one["id"] for one in message["toolCalls"]] == ["tc-0", "tc-1"]


def test_odd_messages_of_a_snapshot_are_left_out_or_kept_as_they_are() -> None:
    told = read(STARTED, snapshot({"role": "user", "content": "no id"}, "text", {"id": 7}), finished())
    assert len(told.run.messages) == 2
    assert [rule for rule, _ in told.found()] == ["C-20"]


def test_the_state_is_the_snapshot_to_the_byte_and_deltas_all_or_nothing() -> None:
    frame = '{"type":"STATE_SNAPSHOT","snapshot":{"big": 12345678901234567890, "x":1.0}}'
    assert read(STARTED, frame, finished()).run.state == '{"big": 12345678901234567890, "x":1.0}'
    good = event("STATE_DELTA", delta=[{"op": "remove", "path": "/x"}])
    bad = event("STATE_DELTA", delta=[{"op": "remove", "path": "/big"}, {"op": "remove", "path": "/x"}])
    told = read(STARTED, frame, good, bad, finished())
    assert (told.run.state, told.found()) == ('{"big":12345678901234567890}', [("C-19", "4 STATE_DELTA /delta")])


def test_the_state_of_the_input_is_where_deltas_begin() -> None:
    delta = event("STATE_DELTA", delta=[{"op": "add", "path": "/m", "value": None}])
    assert read(STARTED, delta, finished()).run.state == '{"n":1.0,"m":null}'


def test_outgoing_messages_are_without_activity() -> None:
    activity = '{"id":"a","role":"\\u0061ctivity","activityType":"x","content":{}}'
    view = RunView(run_id="r", thread_id="t", messages=[USER, activity])
    assert outgoing(view, INPUT) == ([USER], INPUT.state, [])


@pytest.mark.parametrize(
    ("state", "sent", "warned"), [(None, "{}", 0), ("null", None, 1), ('{"a":null}', '{"a":null}', 0)]
)
def test_a_state_that_is_null_cannot_be_sent(state: str | None, sent: str | None, warned: int) -> None:
    _, found, warnings = outgoing(RunView(run_id="r", thread_id="t", state=state), None)
    assert (found, len(warnings)) == (sent, warned)

"""Tool calls and their arguments: awkward cuts, chunks, repeats, and everything that comes out of order."""

from __future__ import annotations

from typing import Any

import pytest

from agentbridge.wire.record import CallView
from tests.agentbridge.streams import ASK, STARTED, call, event, finished, paused, read


def chunk(**members: Any) -> dict[str, Any]:
    return event("TOOL_CALL_CHUNK", **members)


@pytest.mark.parametrize(
    ("deltas", "text", "state"),
    [
        (['{"pa', "\\u007", '4h":"C:\\\\new"}'], '{"pa\\u0074h":"C:\\\\new"}', "complete"),
        ([], "", "missing"),
        ([""], "", "empty"),
        (['{"q":1}', '{"q":2}'], '{"q":1}{"q":2}', "invalid"),
        (['{"n":NaN}'], '{"n":NaN}', "invalid"),
        (
            ['{"a":1,"a":2,"big":', "12345678901234567890123}"],
            '{"a":1,"a":2,"big":12345678901234567890123}',
            "complete",
        ),
        (["[" * 5000 + "]" * 5000], "[" * 5000 + "]" * 5000, "complete"),
        (['"\\ud800"'], '"\\ud800"', "complete"),
    ],
)
def test_arguments_are_the_deltas_and_nothing_else(deltas: list[str], text: str, state: str) -> None:
    found = read(STARTED, *call(*deltas), paused()).run.calls["tc-1"]
    assert (found.args, found.state) == (text, state)


def test_calls_stream_side_by_side() -> None:
    one, two = call('{"a":', "1}", id_="one"), call('{"b":', "2}", id_="two")
    told = read(STARTED, *[item for pair in zip(one, two, strict=True) for item in pair], finished())
    assert [found.args for found in told.run.calls.values()] == ['{"a":1}', '{"b":2}']
    assert told.run.warnings == []


def test_the_same_call_again_with_the_same_arguments_is_one_call() -> None:
    told = read(STARTED, *call('{"seat":"4A"}'), *call('{"seat":', '"4A"}'), paused())
    found = told.run.calls["tc-1"]
    assert (len(told.run.calls), found.args, found.conflict, found.state) == (1, '{"seat":"4A"}', None, "complete")
    assert told.run.messages[-1].count("4A") == 1


def test_the_same_call_again_with_other_arguments_is_a_conflict() -> None:
    told = read(STARTED, *call('{"seat":"4A"}'), *call('{"seat":"1A"}'), paused())
    found = told.run.calls["tc-1"]
    assert (found.args, found.conflict, found.state) == ('{"seat":"4A"}', '{"seat":"1A"}', "complete")
    assert [rule for rule, _ in told.found("error")] == ["C-29b"]


def test_more_arguments_after_the_end_are_a_conflict_and_change_nothing() -> None:
    told = read(STARTED, *call("{}"), event("TOOL_CALL_ARGS", toolCallId="tc-1", delta="x"), paused())
    found = told.run.calls["tc-1"]
    assert (found.args, found.conflict, found.state) == ("{}", "{}x", "complete")


def test_arguments_before_the_start_are_kept_and_never_called_whole() -> None:
    start, args, end = call("{}")
    told = read(STARTED, args, start, end, paused())
    found = told.run.calls["tc-1"]
    assert (found.name, found.args, found.state) == ("pay", "{}", "incomplete")
    assert told.found("error") == [("C-10", "2 TOOL_CALL_ARGS")]


def test_a_start_told_twice_is_one_start() -> None:
    start, args, end = call("{}")
    found = read(STARTED, start, start, args, end, paused()).run.calls["tc-1"]
    assert (found.args, found.state, found.conflict) == ("{}", "complete", None)


def test_a_call_that_lost_its_end_is_whole_when_it_is_told_again() -> None:
    found = read(STARTED, *call("{}", end=False), *call("{}"), paused()).run.calls["tc-1"]
    assert (found.state, found.conflict) == ("complete", None)


def test_another_tool_under_the_same_id_is_a_conflict() -> None:
    told = read(STARTED, *call("{}"), *call("{}", name="wipe"), paused())
    assert (told.run.calls["tc-1"].name, told.run.calls["tc-1"].conflict) == ("pay", "wipe")


def test_calls_open_at_the_end_are_incomplete_and_answerable() -> None:
    told = read(STARTED, *call('{"id":1}', end=False), *call('{"id":', id_="tc-2", end=False), paused())
    assert [(found.args, found.state) for found in told.run.calls.values()] == [
        ('{"id":1}', "incomplete"),
        ('{"id":', "incomplete"),
    ]
    assert (told.run.status, [rule for rule, _ in told.found()]) == ("interrupted", ["C-10", "C-10"])


def test_an_end_without_a_start_is_noted_and_the_pause_counts() -> None:
    told = read(STARTED, event("TOOL_CALL_END", toolCallId="tc-1"), paused())
    assert (told.run.status, told.run.calls) == ("interrupted", {})
    assert [rule for rule, _ in told.found()] == ["T-36"]


def test_chunks_make_one_call_and_its_end_is_ours() -> None:
    told = read(STARTED, chunk(toolCallId="c", toolCallName="pay", delta='{"a"'), chunk(delta=":1}"), finished())
    assert told.facts == ["Started", "CallChanged", "CallChanged", "Finished"]
    assert (told.run.calls["c"].args, told.run.calls["c"].state) == ('{"a":1}', "complete")
    assert told.run.warnings == []


def test_chunks_of_two_calls_by_turns_go_where_their_ids_say() -> None:
    turns = [("a", "{"), ("b", "["), ("a", "}"), ("b", "]")]
    told = read(STARTED, *[chunk(toolCallId=id_, toolCallName="x", delta=delta) for id_, delta in turns], finished())
    assert [(found.args, found.state) for found in told.run.calls.values()] == [("{}", "complete"), ("[]", "complete")]
    assert told.run.warnings == []


def test_a_chunk_without_an_id_goes_to_the_parent_before_any_subagent() -> None:
    told = read(
        STARTED,
        chunk(toolCallId="p", toolCallName="x", delta="1"),
        chunk(toolCallId="s", toolCallName="x", delta="2", subagentRunId="sub"),
        chunk(delta="3"),
        chunk(delta="4", subagentRunId="sub"),
        finished(),
    )
    assert [found.args for found in told.run.calls.values()] == ["13", "24"]


def test_a_chunk_that_could_belong_to_two_subagents_has_no_effect() -> None:
    opened = [chunk(toolCallId=sub, toolCallName="x", delta="1", subagentRunId=sub) for sub in ("s1", "s2")]
    told = read(STARTED, *opened, chunk(delta="?"), finished())
    assert [found.args for found in told.run.calls.values()] == ["1", "1"]
    assert told.found("error") == [("C-7", "4 TOOL_CALL_CHUNK")]


@pytest.mark.parametrize(("between", "closes"), [("CUSTOM", True), ("RAW", False)])
def test_what_comes_between_chunks_may_close_them(between: str, closes: bool) -> None:
    other = event("CUSTOM", name="n", value=1) if between == "CUSTOM" else event("RAW", event=1)
    told = read(STARTED, chunk(toolCallId="c", toolCallName="x", delta="1"), other, chunk(delta="2"), finished())
    assert told.run.calls["c"].args == ("1" if closes else "12")
    assert bool(told.found("error")) is closes


@pytest.mark.parametrize("first", [{"delta": "x"}, {"toolCallId": "c", "delta": "x"}])
def test_a_first_chunk_that_names_too_little_has_no_effect(first: dict[str, str]) -> None:
    told = read(STARTED, chunk(**first), finished())
    assert (told.run.calls, [rule for rule, _ in told.found("error")]) == ({}, ["C-7"])


def test_a_chunk_that_contradicts_its_opener_is_noted() -> None:
    told = read(STARTED, chunk(toolCallId="c", toolCallName="x"), chunk(toolCallName="y", delta="1"), finished())
    assert (told.run.calls["c"].name, told.run.calls["c"].args) == ("x", "1")
    assert told.found("error") == [("C-7", "3 TOOL_CALL_CHUNK /toolCallName")]


def test_results_are_kept_in_order_and_the_known_ones_are_no_news() -> None:
    results = [event("TOOL_CALL_RESULT", messageId=f"m{n}", toolCallId="tc-1", content=f"r{n}") for n in (1, 2)]
    told = read(STARTED, *results, finished(), earlier_calls={"tc-1": CallView(id="tc-1", name="pay")})
    assert [result.text for result in told.run.results] == ["r1", "r2"]
    assert told.run.warnings == []


def test_a_result_of_no_known_call_is_an_orphan() -> None:
    told = read(STARTED, event("TOOL_CALL_RESULT", messageId="m", toolCallId="who", content="done"), finished())
    assert not told.run.results[0].known
    assert "orphan result" in told.run.warnings[0].text.lower()


def test_a_result_of_parts_is_readable_and_kept_whole() -> None:
    parts = [{"type": "text", "text": "see"}, {"type": "image", "source": {"type": "file", "value": "f-1"}}]
    told = read(
        STARTED, *call(), event("TOOL_CALL_RESULT", messageId="m", toolCallId="tc-1", content=parts), finished()
    )
    assert told.run.results[0].text == "see"
    assert '"f-1"' in (told.run.results[0].parts or "")


def test_a_question_about_an_earlier_call_finds_it() -> None:
    earlier = CallView(id="tc-1", name="pay", args="{}", state="complete")
    assert read(STARTED, paused(), earlier_calls={"tc-1": earlier}).run.remembered == {"tc-1": earlier}


def test_a_question_about_a_call_that_only_a_snapshot_told_finds_it() -> None:
    spoken = {"id": "tc-1", "type": "function", "function": {"name": "pay", "arguments": '{"a":'}}
    snapshot = event("MESSAGES_SNAPSHOT", messages=[{"id": "m", "role": "assistant", "toolCalls": [spoken]}])
    found = read(STARTED, snapshot, paused(ASK)).run.remembered["tc-1"]
    assert (found.name, found.args, found.state) == ("pay", '{"a":', "invalid")


def test_a_contradicting_owner_is_noted_and_the_arguments_stay_whole() -> None:
    start, args, end = call("{}", subagentRunId="buyer")
    told = read(STARTED, start, {**args, "subagentRunId": "lawyer"}, end, finished())
    assert (told.run.calls["tc-1"].args, told.run.calls["tc-1"].subagent_run_id) == ("{}", "buyer")
    assert told.found() == [("C-26", "3 TOOL_CALL_ARGS /subagentRunId")]


def test_metadata_lands_on_the_call_key_by_key() -> None:
    start, args, end = call("{}", metadata={"a": 1, "b": 1})
    told = read(STARTED, start, {**args, "metadata": {"b": None}}, end, finished())
    assert told.run.calls["tc-1"].metadata == '{"a":1,"b":null}'

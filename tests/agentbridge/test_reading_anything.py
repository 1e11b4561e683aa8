"""Whatever arrives, cut wherever: the reader never raises, and a legal stream reads the same."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbridge.wire.reading import Reader
from tests.agentbridge.streams import ASK, INPUT, STARTED, body, call, event, finished, paused, read

OTHER = {**STARTED, "runId": "old"}
ERROR = event("RUN_ERROR", message="no such luck", code="E1")
LEGAL = [
    STARTED,
    event("TEXT_MESSAGE_CHUNK", messageId="m", delta="é🚀"),
    event("TOOL_CALL_CHUNK", toolCallId="tc-2", toolCallName="look", delta="{"),
    event("TOOL_CALL_CHUNK", delta="}"),
    *call('{"a":1e400,', '"b":"결재"}'),
    event("TOOL_CALL_RESULT", messageId="m2", toolCallId="tc-2", content="ok"),
    event("STATE_DELTA", delta=[{"op": "add", "path": "/x", "value": [1.0]}]),
    event("CUSTOM", name="n", value=None, rawEvent={"id": "7"}),
    paused(ASK, {**ASK, "id": "int-2", "metadata": {"n": 10**30}}),
]
RAW = body(LEGAL).replace(b"\n\n", b"\r\n\r\n")


def told_of(chunks: list[bytes]) -> Any:
    reader = Reader(thread_id="t", run_id="r", run_input=INPUT)
    facts = [fact for chunk in chunks for fact in reader.feed(chunk)] + reader.close()
    return reader.runs, [type(fact) for fact in facts], reader.events


@given(st.lists(st.integers(0, len(RAW)), max_size=12))
def test_a_legal_stream_reads_the_same_however_it_is_cut(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(RAW)]
    assert told_of([RAW[a:b] for a, b in pairwise(places)]) == told_of([RAW])


@settings(max_examples=200)
@given(st.data())
def test_a_damaged_stream_never_raises(data: st.DataObject) -> None:
    damaged = bytearray(RAW)
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place : place + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=6))
    runs, _, _ = told_of([bytes(damaged)])
    assert sum(run.ours for run in runs) == 1


@settings(max_examples=200)
@given(st.lists(st.sampled_from([*LEGAL, ERROR, OTHER, finished(), event("STEP_FINISHED", stepName="s")]), max_size=14))
def test_events_in_any_order_leave_one_run_of_ours_that_ended(events: list[Any]) -> None:
    runs, _, _ = told_of([body(events)])
    assert [run.ended for run in runs if run.ours] == [True]


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
JUNK = st.recursive(
    SCALARS,
    lambda junk: st.lists(junk, max_size=2) | st.dictionaries(st.text(max_size=3), junk, max_size=2),
    max_leaves=5,
)


@settings(max_examples=200)
@given(st.data())
def test_members_of_any_type_never_raise(data: st.DataObject) -> None:
    events = json.loads(json.dumps(LEGAL))
    for one in data.draw(st.lists(st.sampled_from(events), min_size=1, max_size=4)):
        one[data.draw(st.sampled_from(sorted(one)))] = data.draw(JUNK)
    runs, _, _ = told_of([body(events)])
    assert sum(run.ours for run in runs) == 1


@pytest.mark.parametrize("kind", ["STATE_SNAPSHOT", "CUSTOM", "RUN_FINISHED", "MESSAGES_SNAPSHOT", "STATE_DELTA"])
def test_brackets_too_deep_for_most_parsers_are_data(kind: str) -> None:
    deep = "[" * 3000 + "]" * 3000
    frames = {
        "STATE_SNAPSHOT": '{"type":"STATE_SNAPSHOT","snapshot":%s}',
        "CUSTOM": '{"type":"CUSTOM","name":"x","value":%s}',
        "RUN_FINISHED": '{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":%s}',
        "MESSAGES_SNAPSHOT": '{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"user","content":%s}]}',
        "STATE_DELTA": '{"type":"STATE_DELTA","delta":[{"op":"add","path":"/x","value":%s},'
        '{"op":"copy","from":"/x","path":"/y"},{"op":"test","path":"/y","value":[]}]}',
    }
    told = read(STARTED, frames[kind] % deep, finished())
    assert told.run.status == "succeeded"

"""Of every stream: cut anywhere it reads the same; a legal one brings no warning; no damage is an exception."""

from __future__ import annotations

import json
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentbridge.models import Run
from agentbridge.wire.reading import Reader
from approvals.models import User
from tests.agentbridge import legal
from tests.agentbridge.recordings import Tape
from tests.agentbridge.streams import INPUT, body

ENDS = {"succeeded", "interrupted", "cancelled", "failed", "rejected", "truncated", "unknown"}


def told_of(chunks: list[bytes]) -> Any:
    reader = Reader(thread_id="t", run_id="r", run_input=INPUT)
    facts = [fact for chunk in chunks for fact in reader.feed(chunk)] + reader.close()
    return [type(fact).__name__ for fact in facts], reader.runs, reader.events


def cut(raw: bytes, places: list[float]) -> list[bytes]:
    marks = [0, *sorted(int(place * len(raw)) for place in places), len(raw)]
    return [raw[a:b] for a, b in pairwise(marks)]


@given(legal.bodies(), st.lists(st.floats(0, 1), max_size=9))
def test_any_legal_stream_reads_the_same_however_it_is_cut(raw: bytes, places: list[float]) -> None:
    assert told_of(cut(raw, places)) == told_of([raw])


@given(legal.bodies())
def test_a_legal_stream_brings_no_warning_and_ends(raw: bytes) -> None:
    _, [run], _ = told_of([raw])
    assert (run.warnings, run.status in ENDS - {"rejected", "truncated"}) == ([], True)


@given(legal.stream())
def test_a_legal_stream_loses_no_value(events: legal.Events) -> None:
    _, [run], _ = told_of([body(events)])
    told: dict[str, str] = {}
    for one in events:
        id_ = one.get("toolCallId") or (list(told)[-1] if one["type"] == "TOOL_CALL_CHUNK" else "")
        if one["type"].startswith("TOOL_CALL"):
            told[id_] = told.get(id_, "") + one.get("delta", "")
    assert {id_: call.args for id_, call in run.calls.items()} == told
    asked = (events[-1].get("outcome") or {}).get("interrupts", [])
    assert [json.loads(each.raw) for each in run.interrupts] == asked


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A legal stream with events dropped, doubled, swapped or retyped, and with bytes changed."""
    events = draw(legal.stream())
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(events) - 1))
        other = draw(st.integers(0, len(events) - 1))
        deed = draw(st.sampled_from(["drop", "double", "swap", "junk"]))
        if deed == "drop" and len(events) > 1:
            del events[at]
        elif deed == "double":
            events.insert(at, events[other])
        elif deed == "swap":
            events[at], events[other] = events[other], events[at]
        else:
            events[at] = {**events[at], draw(st.sampled_from(sorted(events[at]))): draw(legal.JSON)}
    raw = bytearray(body(events))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(raw) - 1))
        raw[at : at + draw(st.integers(0, 5))] = draw(st.binary(max_size=5))
    return bytes(raw)


@settings(max_examples=150)
@given(damaged(), st.lists(st.floats(0, 1), max_size=4))
def test_any_damage_ends_in_a_named_status_and_reads_the_same_when_cut(raw: bytes, places: list[float]) -> None:
    facts, runs, events = told_of([raw])
    assert [run.status in ENDS for run in runs if run.ours] == [True]
    assert told_of(cut(raw, places)) == (facts, runs, events)
    for run in runs:
        assert all(each.rule and each.where and each.text for each in run.warnings)


THREADS = count()


@pytest.mark.django_db
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(raw=damaged())
def test_any_damage_is_put_on_record_under_a_named_status(payments: Any, alice: User, raw: bytes) -> None:
    tape = Tape(payments, alice, slug=f"a{next(THREADS)}")
    thread = f"t{next(THREADS)}"
    run = tape.record(raw.replace(b'"r"', b'"__RUN__"').replace(b'"t"', b'"__THREAD__"'), thread=thread)
    assert run.status in ENDS & set(Run.Status.values)
    assert b"".join(bytes(chunk.data) for chunk in run.chunks.order_by("n")).count(b"__RUN__") == 0



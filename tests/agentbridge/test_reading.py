"""Runs: how they begin and end, whose they are, and what is rejected or only noted (C-29b)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentbridge.wire.reading import Reader
from agentbridge.wire.record import Limits
from tests.agentbridge.streams import ASK, INPUT, STARTED, Told, body, call, event, finished, paused, read

OTHER = {**STARTED, "runId": "old"}
ERROR = event("RUN_ERROR", message="no such luck", code="E1")


def test_a_pause_is_told_once_with_its_call() -> None:
    told = read(STARTED, *call('{"amount":', "120.50}"), paused())
    assert told.facts == ["Started", "CallChanged", "CallChanged", "Paused"]
    assert (told.run.status, told.run.calls["tc-1"].args) == ("interrupted", '{"amount":120.50}')
    assert told.run.interrupts[0].raw == json.dumps(ASK)
    assert told.run.warnings == []


@pytest.mark.parametrize(
    ("outcome", "status", "kind"),
    [
        (None, "succeeded", ""),
        ({"type": "success"}, "succeeded", "success"),
        ({"type": "cancelled"}, "cancelled", "cancelled"),
        ({"type": "paused"}, "unknown", "unknown"),
    ],
)
def test_the_other_endings(outcome: Any, status: str, kind: str) -> None:
    told = read(STARTED, finished(outcome, result={"n": 1.0}))
    assert (told.run.status, told.run.outcome, told.run.result) == (status, kind, '{"n": 1.0}')
    assert told.facts == ["Started", "Finished"]


@pytest.mark.parametrize(
    "outcome", ["interrupt", ["interrupt"], 7, {}, {"type": 1}, {"type": "interrupt", "interrupts": []}]
)
def test_an_outcome_that_cannot_be_read_rejects_the_stream(outcome: Any) -> None:
    told = read(STARTED, finished(outcome))
    assert (told.facts, told.run.status) == (["Started", "Rejected"], "rejected")


def test_a_success_with_interrupts_is_a_success_and_loud() -> None:
    told = read(STARTED, finished({"type": "success", "interrupts": [ASK]}))
    assert (told.run.status, told.run.interrupts) == ("succeeded", [])
    assert told.found("error") == [("G-3", "2 RUN_FINISHED /outcome/interrupts")]


def test_a_draft_pause_beside_the_outcome_is_loud_too() -> None:
    assert read(STARTED, finished(interrupts=[ASK])).found("error") == [("C-2", "2 RUN_FINISHED /interrupts")]


def test_an_error_that_carries_a_pause_is_an_error_and_loud() -> None:
    told = read(STARTED, event("RUN_ERROR", message="boom", outcome={"type": "interrupt", "interrupts": [ASK]}))
    assert (told.run.status, told.run.interrupts) == ("failed", [])
    assert told.found("error") == [("C-2", "2 RUN_ERROR /outcome")]


def test_a_body_without_an_ending_has_no_outcome() -> None:
    told = read(STARTED, *call('{"a":', end=False))
    assert told.facts[-1] == "Truncated"
    assert (told.run.status, told.run.calls["tc-1"].state, told.run.calls["tc-1"].args) == (
        "truncated",
        "incomplete",
        '{"a":',
    )


def test_when_we_stop_reading_the_agent_is_not_blamed() -> None:
    told = read(STARTED, cut="No event for 120 s.")
    assert (told.facts[-1], told.run.status, told.run.cut) == ("Cut", "truncated", "No event for 120 s.")


def test_nothing_at_all_is_a_run_that_never_started() -> None:
    told = read("", cut=None)
    assert (told.run.status, told.run.started) == ("truncated", False)


def test_an_error_first_means_that_no_run_began() -> None:
    told = read(ERROR)
    assert (told.facts, told.run.started, told.run.error, told.run.error_code) == (
        ["Failed"],
        False,
        "no such luck",
        "E1",
    )


@pytest.mark.parametrize(
    ("events", "acted"),
    [
        ([], False),
        (
            [event("RAW", event={}), event("STATE_SNAPSHOT", snapshot={}), event("MESSAGES_SNAPSHOT", messages=[])],
            False,
        ),
        ([event("STEP_STARTED", stepName="s")], True),
        ([event("TOOL_CALL_RESULT", messageId="m", toolCallId="tc-1", content="ok")], True),
        ([event("SOMETHING_NEW")], True),
    ],
)
def test_a_refusal_is_told_from_a_failure_on_the_way(events: list[Any], acted: bool) -> None:
    assert read(STARTED, *events, ERROR).run.acted is acted


def test_a_late_error_leaves_the_pause_standing() -> None:
    told = read(STARTED, *call("{}"), paused(), ERROR)
    assert told.facts[-2:] == ["Paused", "LateError"]
    assert (told.run.status, told.run.late_error, told.run.error) == ("interrupted", "no such luck", None)
    assert not told.run.interrupts[0].quarantined


@pytest.mark.parametrize("first", [event("TEXT_MESSAGE_START", messageId="m"), finished(), event("RAW", event=1)])
def test_a_stream_must_open_with_a_start_or_an_error(first: Any) -> None:
    told = read(first, STARTED, paused())
    assert told.facts[0] == "Rejected"
    assert (told.run.status, told.run.started) == ("rejected", False)


def test_an_unknown_event_first_is_only_left_out() -> None:
    assert read(event("HELLO"), STARTED, paused()).run.status == "interrupted"


def test_a_run_inside_a_run_is_rejected_and_later_questions_are_quarantined() -> None:
    told = read(STARTED, OTHER, paused())
    assert told.facts == ["Started", "Rejected", "Paused"]
    assert told.run.status == "rejected"
    assert [interrupt.quarantined for interrupt in told.run.interrupts] == [True]


def test_the_same_start_twice_is_a_deviation() -> None:
    told = read(STARTED, STARTED, *call("{}"), paused())
    assert (told.run.status, len(told.reader.runs)) == ("interrupted", 1)
    assert told.found() == [("C-29b", "2 RUN_STARTED")]


def test_after_an_error_nothing_counts_unless_it_is_tolerated() -> None:
    events = [STARTED, ERROR, event("STEP_STARTED", stepName="s"), paused()]
    strict, lenient = read(*events), read(*events, tolerances=["events-after-error"])
    assert (strict.run.status, [i.quarantined for i in strict.run.interrupts]) == ("failed", [True])
    assert strict.facts == ["Started", "Failed", "Rejected", "Paused"]
    assert (lenient.run.status, [i.quarantined for i in lenient.run.interrupts]) == ("failed", [False])


def test_after_the_end_other_events_have_no_effect() -> None:
    told = read(STARTED, paused(), *call("{}", id_="tc-9"), finished())
    assert (told.run.status, told.run.calls) == ("interrupted", {})
    assert {rule for rule, _ in told.found()} == {"C-9"}


def test_other_ids_at_the_end_are_noted_and_the_run_is_ours() -> None:
    told = read(STARTED, {**paused(), "runId": "x", "threadId": "y"})
    assert (told.run.run_id, told.run.status) == ("r", "interrupted")
    assert told.found() == [("C-15", "2 RUN_FINISHED /runId"), ("C-15", "2 RUN_FINISHED /threadId")]


def test_a_replayed_run_before_ours_is_history() -> None:
    told = read(OTHER, {**paused(), "runId": "old"}, STARTED, finished(), known_runs={"old"})
    old, ours = told.reader.runs
    assert (old.ours, old.known, old.status) == (False, True, "interrupted")
    assert (ours.ours, ours.status, ours.warnings) == (True, "succeeded", [])
    assert told.facts == ["Started", "Paused", "Started", "Finished"]


def test_the_only_run_is_ours_whatever_it_calls_itself() -> None:
    told = read(OTHER, {**paused(), "runId": "old"})
    assert (told.run.run_id, told.run.status, told.run.input) == ("old", "interrupted", INPUT)
    assert told.found() == [("C-15", "RUN_STARTED /runId")]


def test_of_several_strangers_the_last_is_ours() -> None:
    told = read(OTHER, finished(runId="old"), {**STARTED, "runId": "newer"}, paused())
    assert [run.ours for run in told.reader.runs] == [False, True]


def test_a_run_after_ours_is_recorded_and_closes_nothing() -> None:
    told = read(STARTED, paused(), OTHER, finished())
    assert (told.run.status, told.reader.runs[1].ours) == ("interrupted", False)
    assert [rule for rule, _ in told.found()] == ["H-1"]


def test_our_id_used_twice_is_no_second_answer() -> None:
    told = read(STARTED, paused(), STARTED, finished())
    assert told.run.status == "interrupted"
    assert told.reader.runs[1].known


def test_state_and_messages_flow_across_the_runs_of_a_body() -> None:
    told = read(OTHER, event("STATE_SNAPSHOT", snapshot=[1]), finished(runId="old"), STARTED, finished())
    assert told.run.state == "[1]"


def test_an_echoed_resume_is_told() -> None:
    echo = {"threadId": "t", "runId": "r", "messages": [], "resume": [{"interruptId": "i", "status": "cancelled"}]}
    told = read({**STARTED, "input": echo}, finished(), run_input=None)
    assert told.facts == ["Started", "Echo", "Finished"]
    assert told.run.input is not None and told.run.input.resume == json.dumps(echo["resume"])


def test_a_frame_too_large_stops_the_reading_and_keeps_what_came() -> None:
    told = read(STARTED, *call("{}"), event("RAW", event="x" * 500), paused(), limits=Limits(frame=400))
    assert (told.facts[-1], told.run.status) == ("Cut", "truncated")
    assert told.run.calls["tc-1"].state == "complete"
    assert "400 bytes" in (told.run.cut or "")


def test_a_stream_too_large_stops_too() -> None:
    told = read(STARTED, *[event("RAW", event=n) for n in range(50)], limits=Limits(stream=300))
    assert told.run.status == "truncated"
    assert told.reader.stopped is not None


def test_many_runs_that_carry_a_long_state_along_end_the_reading() -> None:
    again = [event("RUN_STARTED", threadId="t", runId="other"), finished()]
    state = event("STATE_SNAPSHOT", snapshot="x" * 400)
    told = read(STARTED, state, finished(), *again * 20, limits=Limits(stream=2000))
    assert told.run.status == "succeeded" and len(told.reader.runs) == 5
    assert told.reader.stopped == "The runs of this stream carry more than the limit of 2000 characters."


def test_undecodable_frames_are_counted_and_the_rest_is_read() -> None:
    told = read(STARTED, "Internal failure", '{"type":"RAW","event":NaN}', "[1]", '{"type":7}', paused())
    assert told.run.status == "interrupted"
    assert [rule for rule, _ in told.found("error")] == ["C-29b"] * 4


def test_a_last_frame_without_its_blank_line_counts_and_is_noted() -> None:
    reader = Reader(thread_id="t", run_id="r", run_input=None)
    told = Told(reader, reader.feed(body([STARTED, paused()]).rstrip()) + reader.close())
    assert told.run.status == "interrupted"
    assert told.found("info")[0][0] == "A.3"


def test_half_a_last_frame_invents_nothing() -> None:
    reader = Reader(thread_id="t", run_id="r", run_input=None)
    told = Told(reader, reader.feed(body([STARTED, paused()])[:-12]) + reader.close())
    assert (told.run.status, told.run.interrupts) == ("truncated", [])


def test_a_flood_of_equal_deviations_is_counted_not_stored() -> None:
    told = read(STARTED, *[event("TEXT_MESSAGE_CONTENT", messageId="x", delta="y")] * 2000, finished())
    assert len(told.run.warnings) == 51
    assert "1950 more" in told.run.warnings[-1].text


@pytest.mark.parametrize(
    ("version", "notes"), [("1.0", 0), ("1.1", 0), ("0.9", 0), ("1.10", 1), ("2.0", 1), ("soon", 1)]
)
def test_a_newer_version_is_noted_and_read(version: str, notes: int) -> None:
    told = read({**STARTED, "protocolVersion": version}, finished())
    assert (told.run.status, len(told.found("info"))) == ("succeeded", notes)

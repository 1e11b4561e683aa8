"""Recorded streams of ten real agent servers: what each asked, what may be said to it, and what we would have sent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from agentbridge import dialects, flagging
from agentbridge.dialects import Answered, Dialect, Pause, Sending
from agentbridge.wire import protocol
from agentbridge.wire.reading import Reader
from agentbridge.wire.record import RunView
from agentbridge.wire.toolcalls import calls_in
from approvals import jsontext

STREAMS = Path(__file__).parents[1] / "streams"
ENDS = [path.relative_to(STREAMS) for path in sorted(STREAMS.rglob("run*.sse"))]


@dataclass(frozen=True)
class Said:
    """A verdict and, for `answered`, the whole answer."""

    verdict: str
    input: str | None = None


YES = Said("approved")
OK = Said("answered", '{"ok":true}')
FILING = Said("answered", '{"quarter":"Q1","year":2026,"revenue":4200000}')
YES_AS_TEXT = Said("answered", '"yes"')
YES_AS_ANSWER = Said("answered", '{"approved":true}')

# (folder, run that paused, dialect it is known by, what was said to each question)
PAUSES = [
    ("adk/approval", 1, "adk", [YES]),
    ("crewai/approval", 1, "crewai", [YES]),
    ("djangoagui/approval", 1, "pydantic_ai", [YES]),
    ("langgraph/approval", 1, "langgraph", [YES]),
    ("langgraph/chain", 1, "langgraph", [YES]),
    ("langgraph/chain", 2, "langgraph", [YES]),
    ("langgraph/expired", 1, "langgraph", [FILING]),
    ("langgraph/form", 1, "langgraph", [FILING]),
    ("langgraph/hitl", 1, "langgraph", [YES]),
    ("langgraph/hitl-multi", 1, "langgraph", [YES]),
    ("langgraph/legacy-approval", 1, "langgraph", [YES]),
    ("langgraph/legacy-chain", 1, "langgraph", [YES]),
    ("langgraph/legacy-chain", 2, "langgraph", [YES]),
    ("langgraph/legacy-parallel", 1, "langgraph", [YES, YES, YES]),
    ("langgraph/onenode", 1, "langgraph", [YES]),
    ("langgraph/onenode", 2, "langgraph", [YES]),
    ("langgraph/onenode", 3, "langgraph", [YES]),
    ("langgraph/onenode-async", 1, "langgraph", [YES]),
    ("langgraph/onenode-async", 2, "langgraph", [YES]),
    ("langgraph/onenode-async", 3, "langgraph", [YES]),
    ("langgraph/plain", 1, "langgraph", [YES_AS_TEXT]),
    ("langgraph/twice", 1, "langgraph", [YES]),
    ("langgraph/twice", 2, "langgraph", [YES]),
    ("mastra/suspend", 1, "mastra", [YES]),
    ("msaf/approval", 1, "msaf", [YES]),
    ("pydanticai/approval", 1, "pydantic_ai", [YES]),
    ("strands/approval", 1, "strands", [YES]),
    ("strands/hook", 1, "strands", [YES_AS_ANSWER]),
    ("strands/mixed", 1, "strands", [YES, YES_AS_ANSWER]),
    ("strands/native", 1, "strands", [Said("answered", '{"slot":"Mon 10:00"}')]),
    ("strands/parallel", 1, "strands", [YES, YES, YES]),
    ("strands/twice", 1, "strands", [OK]),
    ("strands/twice", 2, "strands", [OK]),
    ("tslanggraph/approval", 1, "langgraph", [YES]),
]
# What was sent to these is not what works: the map by id is (issue 2178), and legacy answers go one way only (L-7).
ANSWERED_OTHERWISE = [
    ("langgraph/parallel", 1, "langgraph", [YES, YES, YES]),
    ("langgraph/parallel-fixed", 1, "langgraph", [YES, YES, YES]),
    ("langgraph/legacy-approval-resume-array", 1, "langgraph", [YES]),
]
BY_SETTING = [("agno/approval", 1, "agno", [YES])]
PAUSED = {(folder, number) for folder, number, _, _ in PAUSES + ANSWERED_OTHERWISE + BY_SETTING}


def request(folder: str, number: int) -> str:
    return (STREAMS / folder / f"run{number}.request.json").read_text("utf-8")


def run_of(folder: str, number: int) -> RunView:
    asked = protocol.read_input(request(folder, number))
    reader = Reader(thread_id=asked.thread_id, run_id=asked.run_id, run_input=asked)
    reader.feed((STREAMS / folder / f"run{number}.sse").read_bytes())
    reader.close()
    return next(run for run in reader.runs if run.ours)


def answer(dialect: Dialect, pause: Pause, said: Said) -> Answered:
    proposal = pause.call.args if pause.call is not None and pause.call.state == "complete" else None
    text = dialect.kit(pause).answer(said.verdict, proposal=proposal, edits=None, input=said.input, comment="")
    interrupt = pause.interrupt
    return Answered(
        interrupt_id=interrupt.id or "", verdict=said.verdict, answer=text, legacy=pause.legacy, raw=interrupt.raw
    )


def sent(folder: str, number: int, said: list[Said], wanted: str = "auto") -> Sending:
    dialect, pauses, _ = dialects.recognise(run_of(folder, number), wanted)
    answers = [answer(dialect, *both) for both in zip(pauses, said, strict=True)]
    return dialect.send(answers, jsontext.member(request(folder, number), "forwardedProps") or "{}")


@pytest.mark.parametrize(("folder", "number", "name", "said"), PAUSES + ANSWERED_OTHERWISE)
def test_a_pause_is_known_by_what_it_carries(folder, number, name, said):
    dialect, pauses, _ = dialects.recognise(run_of(folder, number))
    assert (dialect.name, len(pauses)) == (name, len(said))


@pytest.mark.parametrize(("folder", "number", "name", "said"), PAUSES)
def test_the_recorded_answer_is_what_would_be_sent(folder, number, name, said):
    sending, next_input = sent(folder, number, said), request(folder, number + 1)
    entries = jsontext.member(next_input, "resume")
    assert jsontext.same(sending.entries or "null", entries or "null")
    props = sending.forwarded_props or jsontext.member(request(folder, number), "forwardedProps")
    assert jsontext.same(props, jsontext.member(next_input, "forwardedProps"))


@pytest.mark.parametrize("path", [path for path in ENDS if (path.parent.as_posix(), int(path.stem[3:])) not in PAUSED])
def test_a_run_that_asked_nothing_opens_nothing(path):
    _, pauses, _ = dialects.recognise(run_of(path.parent.as_posix(), int(path.stem[3:])))
    assert pauses == []


@pytest.mark.parametrize(("folder", "number", "name", "said"), PAUSES + ANSWERED_OTHERWISE + BY_SETTING)
def test_an_agent_that_says_one_thing_only_is_not_accused_of_two(folder, number, name, said):
    _, pauses, _ = dialects.recognise(run_of(folder, number), name)
    spoken = list(calls_in(run_of(folder, number).messages))
    flags = [flagging.of_task(pause, deadline=None, spoken=spoken, asked_again=None) for pause in pauses]
    assert not [flag["slug"] for found in flags for flag in found if flag["slug"].startswith("conflicting")]


def test_several_questions_of_langgraph_get_one_entry_with_a_map():
    entries = jsontext.loads(sent("langgraph/parallel", 1, [YES, YES, YES]).entries)
    assert len(entries) == 1
    assert entries[0]["interruptId"] == next(iter(entries[0]["payload"]))
    assert list(entries[0]["payload"].values()) == [{"approved": True}] * 3


def test_a_legacy_question_is_answered_the_legacy_way_only():
    sending = sent("langgraph/legacy-approval-resume-array", 1, [YES])
    assert sending == Sending(forwarded_props='{"command":{"resume":{"approved":true}}}')


def test_agno_is_answered_by_a_tool_message_behind_the_history():
    sending = sent("agno/approval", 1, [YES], wanted="agno")
    recorded = jsontext.loads(request("agno/approval", 2))["messages"][-1]
    message = jsontext.loads(sending.messages[0])
    assert (sending.entries, sending.forwarded_props, len(sending.messages)) == ("", None, 1)
    assert {**message, "id": "", "content": jsontext.loads(message["content"])} == {
        **recorded, "id": "", "content": jsontext.loads(recorded["content"])
    }  # fmt: skip


def test_an_unanswered_call_opens_nothing_by_itself_but_is_said():
    dialect, pauses, warnings = dialects.recognise(run_of("agno/approval", 1))
    assert (dialect.name, pauses) == ("plain", [])
    assert ["refund" in warning.text for warning in warnings if warning.rule == "L-3a"] == [True]


@pytest.mark.parametrize("path", [path for path in ENDS if not path.match("agno/approval/run1.sse")])
def test_no_finished_run_leaves_a_call_unanswered(path):
    run = run_of(path.parent.as_posix(), int(path.stem[3:]))
    _, pauses, warnings = dialects.recognise(run)
    assert [warning for warning in warnings if warning.rule != "L-6"] == []
    assert bool(warnings) == any(pause.legacy for pause in pauses)


@pytest.mark.parametrize(
    ("folder", "verdicts", "cancel"),
    [
        ("adk/approval", ["approved", "rejected", "cancelled"], "safe"),
        ("crewai/approval", ["approved", "rejected", "answered", "cancelled"], "runs"),
        ("langgraph/approval", ["approved", "rejected", "cancelled"], "unclear"),
        ("langgraph/hitl", ["approved", "rejected", "answered"], "unclear"),
        ("langgraph/legacy-approval", ["approved", "rejected"], "unclear"),
        ("langgraph/parallel", ["approved", "rejected"], "unclear"),
        ("mastra/suspend", ["approved", "rejected", "cancelled"], "unclear"),
        ("msaf/approval", ["approved", "rejected", "cancelled"], "safe"),
        ("pydanticai/approval", ["approved", "rejected", "cancelled"], "safe"),
        ("strands/approval", ["approved", "rejected", "cancelled"], "safe"),
        ("strands/native", ["answered", "cancelled"], "unclear"),
    ],
)
def test_what_may_be_said(folder, verdicts, cancel):
    dialect, pauses, _ = dialects.recognise(run_of(folder, 1))
    kit = dialect.kit(pauses[0])
    assert (list(kit.forms), kit.cancel) == (verdicts, cancel)


@pytest.mark.parametrize(
    ("folder", "editable"),
    [
        ("langgraph/approval", True),
        ("langgraph/hitl", True),
        ("langgraph/hitl-multi", False),
        ("msaf/approval", True),
        ("pydanticai/approval", True),
        ("adk/approval", False),
        ("strands/approval", False),
        ("mastra/suspend", False),
        ("crewai/approval", False),
    ],
)
def test_edits_are_offered_only_where_they_would_be_run(folder, editable):
    dialect, pauses, _ = dialects.recognise(run_of(folder, 1))
    assert dialect.kit(pauses[0]).can_edit is editable


def test_an_edited_call_of_the_middleware_keeps_its_name():
    dialect, [pause], _ = dialects.recognise(run_of("langgraph/hitl", 1))
    edits = '{"to":"ann@example.com","subject":"Hello"}'
    answer = dialect.kit(pause).answer("approved", proposal=pause.call.args, edits=edits, input=None, comment="")
    assert answer == (f'{{"decisions":[{{"type":"edit","edited_action":{{"name":"send_email","args":{edits}}}}}]}}')


@pytest.mark.parametrize(("number", "flags"), [(1, ["other-calls-wait"]), (2, ["other-calls-wait"]), (3, [])])
def test_one_question_among_waiting_calls_is_said_to_be_uncertain(number, flags):
    _, [pause], _ = dialects.recognise(run_of("langgraph/onenode", number))
    assert (pause.call.name, pause.call.state) == ("refund", "complete")
    assert [flag["slug"] for flag in pause.flags] == flags


def test_adk_shows_the_real_call():
    _, [pause], _ = dialects.recognise(run_of("adk/approval", 1))
    assert (pause.call.name, pause.call.id) == ("refund", "call_7fa3ee7b5cc9")
    assert pause.interrupt.tool_call_id != pause.call.id

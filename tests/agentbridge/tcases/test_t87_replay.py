"""T-87 to T-95: replayed history, legacy announcements, subagents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentbridge import dialects
from agentbridge.models import Run
from approvals.models import Case, User
from tests.agentbridge.recordings import Tape, case_of, slugs, warned
from tests.agentbridge.streams import ASK, STARTED, call, event, finished, paused, read
from tests.bridge_work import Script, ask, delivery, paused_case, register, work
from tests.people import decide, only_task
from tests.scripted_agent import Answer, finishing, frame, interrupt, pausing, result, started
from tests.scripted_agent import call as called
from tests.scripted_agent import finished as ended


@pytest.fixture
def tape(payments: Any, alice: User) -> Tape:
    return Tape(payments, alice)


def named(run_id: str, *parts: bytes) -> list[bytes]:
    return [part.replace(b"__RUN__", run_id.encode()) for part in parts]


@pytest.mark.django_db(transaction=True)
def test_t87_replayed_runs_that_we_hold_open_nothing_again(script: Script, alice: User) -> None:
    agent = script(pausing(), finishing())
    case = paused_case(register(agent), alice)
    decide(only_task(case), alice)
    work()
    first, second = Run.objects.order_by("pk")
    old = named(first.run_id, started(), called(), ended(interrupt())) + named(second.run_id, started(), ended())
    agent.script.append(Answer([*old, started(), ended()]))
    before = Case.objects.count(), Run.objects.count()
    ask(first.thread.agent, alice)
    work()
    assert (Case.objects.count(), Run.objects.count()) == (before[0], before[1] + 1)
    assert (Run.objects.latest("pk").status, delivery(case).state) == ("succeeded", "finished")


ELSEWHERE = named("elsewhere", started(), called(), ended(interrupt()))


@pytest.mark.django_db
def test_t88_an_unknown_pause_that_came_last_is_one_case_marked_as_replay(tape: Tape) -> None:
    tape.record(started(), ended(), *ELSEWHERE)
    seen = Run.objects.get(run_id="elsewhere")
    case = case_of(seen)
    assert (Case.objects.count(), case.tasks.count(), seen.kind) == (1, 1, "observed")
    assert "seen-in-replay" in slugs(case.tasks.get())


@pytest.mark.django_db
def test_t88_an_unknown_pause_before_our_run_is_history(tape: Tape) -> None:
    tape.record(*ELSEWHERE, started(), ended())
    assert (Case.objects.exists(), Run.objects.get(run_id="elsewhere").status) == (False, "interrupted")


def test_t89_each_run_of_a_replay_keeps_its_own_version() -> None:
    old = {**STARTED, "runId": "old", "protocolVersion": "0.9"}
    told = read(old, finished(runId="old"), {**STARTED, "protocolVersion": "1.0"}, finished())
    assert [run.protocol_version for run in told.reader.runs] == ["0.9", "1.0"]


VALUES = [json.dumps({"message": "May I?"}), {"message": "May I?"}, "May I?"]


@pytest.mark.parametrize("value", VALUES, ids=["JSON in a string", "object", "text"])
@pytest.mark.parametrize(
    ("raw_event", "wanted", "count"),
    [({"id": "i-1"}, "auto", 1), ({"id": 7}, "auto", 0), (None, "auto", 0), ({"id": "i-1"}, "langgraph", 1)],
)
def test_t90_an_on_interrupt_is_a_question_where_it_carries_an_id(
    value: Any, raw_event: Any, wanted: str, count: int
) -> None:
    custom = event("CUSTOM", name="on_interrupt", value=value, **({"rawEvent": raw_event} if raw_event else {}))
    run = read(STARTED, custom, finished()).run
    _, pauses, warnings = dialects.recognise(run, wanted)
    assert ([pause.legacy for pause in pauses], {w.rule for w in warnings}) == (
        [True] * count, {"L-6"} if count else {"L-5"}
    )  # fmt: skip
    assert all(pause.interrupt.message == "May I?" for pause in pauses)


def test_t90_beside_an_outcome_only_the_outcome_asks() -> None:
    custom = event("CUSTOM", name="on_interrupt", value="x", rawEvent={"id": "i-1"})
    _, pauses, warnings = dialects.recognise(read(STARTED, custom, paused()).run)
    assert ([pause.interrupt.id for pause in pauses], pauses[0].legacy, warnings) == (["int-1"], False, [])


@pytest.mark.django_db
def test_t91_thinking_of_older_agents_is_translated_and_the_pause_works(tape: Tape) -> None:
    thoughts = [
        frame(type="THINKING_START", title="hm"), frame(type="THINKING_TEXT_MESSAGE_START"),
        frame(type="THINKING_TEXT_MESSAGE_CONTENT", delta="let me see"), frame(type="THINKING_TEXT_MESSAGE_END"),
        frame(type="THINKING_END"),
    ]  # fmt: skip
    run = tape.record(started(), *thoughts, called(), ended(interrupt()))
    assert (case_of(run).state, warned(run)) == ("open", {"B.4": "6 REASONING_END"})
    assert '"role":"reasoning"' in run.snapshot.replace("\\", "")


HELPERS = [frame(type="SUBAGENT_STARTED", subagentRunId=f"s{n}", name=f"helper {n}") for n in (1, 2)]
SUSPENDED = [
    frame(type="SUBAGENT_FINISHED", subagentRunId=f"s{n}", outcome={"type": "suspended", "interruptIds": [f"int-{n}"]})
    for n in (1, 2)
]
ASKED = [interrupt("int-1", None, subagentRunId="s1"), interrupt("int-2", None, subagentRunId="s2"),
         interrupt("int-3", None)]  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_t92_questions_of_two_subagents_and_the_parent_go_out_together(script: Script, alice: User) -> None:
    agent = script(Answer([started(), *HELPERS, *SUSPENDED, ended(*ASKED)]), finishing(None))
    case = paused_case(register(agent), alice)
    tasks = list(case.tasks.order_by("position"))
    assert [json.loads(task.refs)["subagentRunId"] for task in tasks] == ["s1", "s2", None]
    for task in tasks:
        assert agent.resumes == []
        decide(task, alice)
        work()
    assert [entry["interruptId"] for entry in agent.resumes[0]] == ["int-1", "int-2", "int-3"]


@pytest.mark.django_db
def test_t93_a_suspended_subagent_may_name_no_question_or_an_unknown_one(tape: Tape) -> None:
    unknown = frame(type="SUBAGENT_FINISHED", subagentRunId="s2", outcome={"type": "suspended", "interruptIds": ["x"]})
    bare = frame(type="SUBAGENT_FINISHED", subagentRunId="s1", outcome={"type": "suspended"})
    run = tape.record(started(), *HELPERS, bare, unknown, called(), ended(interrupt()))
    assert (case_of(run).state, warned(run)) == ("open", {"U-4": "9 RUN_FINISHED /outcome/interrupts"})


@pytest.mark.parametrize("second", ["s1", "s9"])
def test_t94_a_subagent_waits_and_goes_on_under_the_same_id_or_another(second: str) -> None:
    begin = event("SUBAGENT_STARTED", subagentRunId="s1", name="helper")
    waits = event("SUBAGENT_FINISHED", subagentRunId="s1", outcome={"type": "suspended", "interruptIds": ["int-1"]})
    first = read(STARTED, begin, waits, *call("{}"), paused({**ASK, "subagentRunId": "s1"})).run
    assert (first.subagents["s1"].status, first.subagents["s1"].interrupt_ids) == ("suspended", ("int-1",))
    assert first.interrupts[0].subagent_run_id == "s1"
    done = event("SUBAGENT_FINISHED", subagentRunId=second)
    resumed = read(STARTED, {**begin, "subagentRunId": second}, done, finished())
    assert (resumed.run.subagents[second].status, resumed.run.warnings) == ("succeeded", [])


@pytest.mark.parametrize("family", ["call", "message"])
def test_t95_a_continuation_of_another_subagent_is_a_deviation_and_kept(family: str) -> None:
    foreign = {"subagentRunId": "s2"}
    if family == "call":
        start, more, end = call("{}", subagentRunId="s1")
    else:
        start = event("TEXT_MESSAGE_START", messageId="m", subagentRunId="s1")
        more, end = event("TEXT_MESSAGE_CONTENT", messageId="m", delta="x"), event("TEXT_MESSAGE_END", messageId="m")
    told = read(STARTED, start, {**more, **foreign}, end, paused())
    assert (told.run.status, told.found()) == (
        "interrupted", [("C-26", f"3 {more['type']} /subagentRunId")]
    )  # fmt: skip


@pytest.mark.django_db
def test_results_without_a_start_and_twice_are_kept_and_linked(tape: Tape) -> None:
    run = tape.record(started(), called(), result("one"), result("two", message="m-2"), result("x", "tc-9", "m-3"),
                      ended(interrupt()))  # fmt: skip
    task = case_of(run).tasks.get()
    assert [each["text"] for each in json.loads(task.results or "[]")] == ["one", "two"]
    assert warned(run)["T-77"] == "7 TOOL_CALL_RESULT"

"""T-31 to T-44: order, lifecycle, and what follows a pause."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from agentbridge.models import Agent, Incident, Run
from agentbridge.runs.recorder import Recording
from approvals import exhibits, reviewing
from approvals.models import Case, User
from approvals.refusals import Refused
from tests.agentbridge.recordings import Tape, case_of, slugs, warned
from tests.agentbridge.streams import INPUT, STARTED, call, event, finished, paused, read
from tests.bridge_work import Script, ask, delivery, paused_case, register, work
from tests.people import decide, only_task, verbs
from tests.scripted_agent import Answer, failed, frame, interrupt, pausing, started
from tests.scripted_agent import call as called
from tests.scripted_agent import finished as ended

ERROR = event("RUN_ERROR", message="no such luck", code="E1")
STEP = frame(type="STEP_STARTED", stepName="s")
LONELY_END = frame(type="TOOL_CALL_END", toolCallId="tc-9")


@pytest.fixture
def tape(payments: Any, alice: User) -> Tape:
    return Tape(payments, alice)


@pytest.mark.django_db
def test_t31_a_stream_that_opens_with_text_is_rejected(tape: Tape) -> None:
    run = tape.record(frame(type="TEXT_MESSAGE_START", messageId="m"), called(), ended(interrupt()))
    assert (run.status, warned(run)) == ("rejected", {"C-8": "1 TEXT_MESSAGE_START"})
    assert case_of(run).state == "quarantined"


@pytest.mark.django_db(transaction=True)
def test_t31_a_stream_that_opens_with_an_error_is_class_b(script: Script, alice: User) -> None:
    case = paused_case(register(script(pausing(), Answer([failed("nothing pending")]))), alice)
    decide(only_task(case), alice)
    work()
    assert (delivery(case).answer_class, delivery(case).state) == ("B", "agent_error")


def test_t32_the_same_start_twice_is_a_deviation_and_another_one_rejects() -> None:
    assert read(STARTED, STARTED, paused()).run.status == "interrupted"
    assert read(STARTED, {**STARTED, "runId": "other"}, paused()).run.status == "rejected"


def test_t32_after_the_end_nothing_has_an_effect_and_the_end_stays() -> None:
    told = read(STARTED, paused(), event("STEP_STARTED", stepName="late"), *call("{}", id_="tc-9"))
    assert (told.run.status, told.run.steps, told.run.calls) == ("interrupted", [], {})
    assert told.found()[0] == ("C-9", "3 STEP_STARTED")


@pytest.mark.django_db
def test_t33_an_error_after_the_pause_leaves_it_and_is_shown_before_deciding(tape: Tape, alice: User) -> None:
    run = tape.record(started(), called(), ended(interrupt()), failed("late trouble"))
    case = case_of(run)
    assert (run.status, run.answer_class, case.state) == ("interrupted", "J", "open")
    assert "error-after-the-pause" in slugs(case.tasks.get())
    assert Incident.objects.get(case=case).kind == "late_error"
    assert decide(case.tasks.get(), alice).verdict == "approved"


GOING_ON = (started(), called(), failed("no luck"), STEP, ended(interrupt()))


@pytest.mark.django_db
def test_t34_a_pause_after_an_error_is_quarantined_and_the_reason_is_the_agents(tape: Tape, alice: User) -> None:
    run = tape.record(*GOING_ON)
    case = case_of(run)
    assert (run.status, run.error, case.state) == ("failed", "no luck", "quarantined")
    with pytest.raises(Refused) as refusal:
        decide(case.tasks.get(), alice)
    assert refusal.value.code == "quarantined"


@pytest.mark.django_db
def test_t34_an_operator_accepts_the_deviation_and_it_can_be_answered(tape: Tape, alice: User, olga: User) -> None:
    case = case_of(tape.record(*GOING_ON))
    reviewing.accept(case, by=olga, reason="known quirk", now=timezone.now())
    case.refresh_from_db()
    assert ("case.accepted" in verbs(case), case.state) == (True, "open")
    assert decide(case.tasks.get(), alice).verdict == "approved"


@pytest.mark.django_db
def test_t34_a_named_tolerance_of_the_agent_takes_the_pause_at_once(tape: Tape) -> None:
    Agent.objects.update(tolerances=["events-after-error"])
    tape.agent.refresh_from_db()
    run = tape.record(*GOING_ON)
    assert (run.status, case_of(run).state, case_of(run).flags) == ("failed", "open", [])


@pytest.mark.parametrize(
    "left_open",
    [
        call("{", end=False),
        [event("STEP_STARTED", stepName="s")],
        [event("TEXT_MESSAGE_START", messageId="m")],
        [event("SUBAGENT_STARTED", subagentRunId="s", name="helper")],
    ],
    ids=["call", "step", "message", "subagent"],
)
def test_t35_what_is_open_at_the_pause_is_said_and_the_pause_counts(left_open: Any) -> None:
    told = read(STARTED, *left_open, paused())
    assert (told.run.status, told.found()) == ("interrupted", [("C-10", f"{len(left_open) + 2} RUN_FINISHED")])


@pytest.mark.django_db
def test_t35_a_call_left_open_is_shown_as_unfinished(tape: Tape) -> None:
    task = tape.task(started(), called().rpartition(b"data:")[0], ended(interrupt()))
    assert exhibits.load(task.exhibits.get().body).tool.state == "incomplete"
    assert "arguments-unreadable" in slugs(task)


@pytest.mark.django_db
def test_t36_the_end_of_a_call_that_never_began_is_a_deviation(tape: Tape) -> None:
    run = tape.record(started(), called(), LONELY_END, ended(interrupt()))
    assert (case_of(run).state, warned(run)) == ("open", {"T-36": "5 TOOL_CALL_END"})


OTHER = called(args='{"amount": 9999}')


@pytest.mark.django_db
def test_t37_a_call_told_again_with_other_arguments_voids_what_was_decided(tape: Tape, alice: User) -> None:
    task = tape.task(started(), called() + called("ship", id_="tc-2"), ended(interrupt()))
    decision = decide(task, alice)
    before = task.exhibits.get()
    run = asked_again(tape, OTHER, failed("stopped"))

    decision.refresh_from_db()
    task.refresh_from_db()
    versions = list(task.exhibits.order_by("version"))
    assert (run.status, decision.voided_at is not None, task.state) == ("failed", True, "open")
    assert (versions[0].body, len(versions)) == (before.body, 2)
    assert exhibits.load(versions[1].body).tool.args_text == '{"amount": 9999}'
    assert (slugs(task)[-1], "exhibit.changed" in verbs(task.case)) == ("conflicting-arguments", True)


def asked_again(tape: Tape, *parts: bytes) -> Run:
    """A later run on the thread that waits, as a host that cannot be refused might push it."""
    thread = Run.objects.latest("pk").thread
    run = Run.objects.create(
        thread=thread, key="k" * 64, run_id="elsewhere", created_at=timezone.now(), input=b'{"messages":[]}'
    )
    recording = Recording(run)
    ours = started().replace(b"__RUN__", b"elsewhere").replace(b"__THREAD__", b"thread-1")
    for part in (ours, *parts):
        recording.keep(part, now=timezone.now())
    recording.close(now=timezone.now())
    run.refresh_from_db()
    return run


@pytest.mark.django_db
def test_t37_a_second_streaming_in_one_run_is_never_glued_to_the_first(tape: Tape) -> None:
    task = tape.task(started(), called(), OTHER, ended(interrupt()))
    assert exhibits.load(task.exhibits.get().body).tool.args_text == '{"amount": 12.50}'
    assert "conflicting-arguments" in slugs(task)


def test_t37_equal_arguments_told_again_are_no_difference() -> None:
    told = read(STARTED, *call('{"a":1}'), *call('{"a":1}'), paused())
    assert (told.run.calls["tc-1"].args, told.run.calls["tc-1"].conflict, told.found()) == ('{"a":1}', None, [])


@pytest.mark.django_db
def test_t38_a_foreign_run_id_at_the_end_leaves_the_pause_with_the_run_we_asked_for(tape: Tape) -> None:
    run = tape.record(started(), called(), ended(interrupt()).replace(b"__RUN__", b"another"))
    assert (run.status, warned(run)) == ("interrupted", {"C-15": "5 RUN_FINISHED /runId"})
    assert f'"runId":"{run.run_id}"' in case_of(run).tasks.get().refs.replace(": ", ":")


def test_t39_chunks_without_ids_belong_to_the_only_call_or_to_nobody() -> None:
    first = event("TOOL_CALL_CHUNK", toolCallId="a", toolCallName="x", delta="{")
    mine = {**event("TOOL_CALL_CHUNK", toolCallId="b", toolCallName="y", delta="["), "subagentRunId": "s"}
    bare = event("TOOL_CALL_CHUNK", delta="}")
    told = read(STARTED, first, mine, bare, {**event("TOOL_CALL_CHUNK", delta="]"), "subagentRunId": "s"}, finished())
    assert [each.args for each in told.run.calls.values()] == ["{}", "[]"]
    lost = read(STARTED, mine, {**mine, "toolCallId": "c", "subagentRunId": "q"}, bare, finished())
    assert ([each.args for each in lost.run.calls.values()], lost.found()) == (
        ["[", "["], [("C-7", "4 TOOL_CALL_CHUNK")]
    )  # fmt: skip


def test_t40_a_custom_event_ends_a_chunk_and_raw_does_not() -> None:
    chunk = event("TOOL_CALL_CHUNK", toolCallId="a", toolCallName="x", delta="{")
    more = event("TOOL_CALL_CHUNK", delta="}")
    assert read(STARTED, chunk, event("RAW", event=1), more, finished()).run.calls["a"].args == "{}"
    told = read(STARTED, chunk, event("CUSTOM", name="n", value=1), more, finished())
    assert (told.run.calls["a"].args, told.found()) == ("{", [("C-7", "4 TOOL_CALL_CHUNK")])


@pytest.mark.django_db
def test_t41_a_change_that_does_not_apply_is_said_and_the_last_good_state_is_kept(tape: Tape) -> None:
    state = frame(type="STATE_SNAPSHOT", snapshot={"a": 1})
    bad = frame(type="STATE_DELTA", delta=[{"op": "replace", "path": "/a", "value": 2}, {"op": "remove", "path": "/b"}])
    run = tape.record(started(), state, bad, called(), ended(interrupt()))
    assert exhibits.load(case_of(run).tasks.get().exhibits.get().body).state == '{"a":1}'
    assert warned(run) == {"C-19": "3 STATE_DELTA /delta"}


@pytest.mark.django_db(transaction=True)
def test_t42_a_snapshot_that_forgets_the_call_leaves_it_on_show_and_is_said(script: Script, alice: User) -> None:
    forgets = frame(type="MESSAGES_SNAPSHOT", messages=[{"id": "u", "role": "user", "content": "hi"}])
    case = paused_case(register(script(pausing(calls=called() + forgets)), dialect="pydantic_ai"), alice)
    assert exhibits.load(only_task(case).exhibits.get().body).tool.args_text == '{"amount": 12.50}'
    decide(only_task(case), alice)
    work()
    case.refresh_from_db()
    assert "lacks the reviewed call" in case.blocked


@pytest.mark.django_db(transaction=True)
def test_t43_a_cancelled_outcome_is_neutral_and_frees_the_thread(script: Script, alice: User) -> None:
    stopped = frame(type="RUN_FINISHED", threadId="__THREAD__", runId="__RUN__", outcome={"type": "cancelled"})
    agent = register(script(pausing(), Answer([started(), stopped])))
    case = paused_case(agent, alice)
    decide(only_task(case), alice)
    work()
    assert (Run.objects.latest("pk").status, delivery(case).answer_class, Case.objects.count()) == ("cancelled", "G", 1)
    assert ask(agent, alice).status == "queued"


@pytest.mark.django_db
def test_t44_calls_that_wait_for_a_frontend_are_no_questions(tape: Tape) -> None:
    waits = frame(
        type="RUN_FINISHED", threadId="__THREAD__", runId="__RUN__",
        outcome={"type": "success", "pendingToolCallIds": ["tc-1"]},
    )  # fmt: skip
    run = tape.record(started(), called(), waits)
    assert (run.status, Case.objects.exists(), warned(run)) == ("succeeded", False, {"L-3a": "TOOL_CALL_START pay"})
    told = read(STARTED, finished({"type": "success", "pendingToolCallIds": ["tc-1"]}), run_input=INPUT)
    assert told.run.pending_tool_call_ids == ("tc-1",)

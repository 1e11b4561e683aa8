"""What a stream leaves on record: bytes first, then rows, cases and warnings; once, also when it is read again."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable
from itertools import chain, repeat
from typing import Any
from unittest.mock import DEFAULT, Mock

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agentbridge.delivery import incidents, sealing
from agentbridge.delivery.tickets import Head
from agentbridge.models import Agent, Incident, ProtocolNote, Run, StreamChunk, Thread, ToolCall
from agentbridge.models.agents import key_of
from agentbridge.runs import noticing, protocolreport, recorder
from agentbridge.runs.recorder import Recording
from agentbridge.wire.record import RunView
from agentbridge.work import sweeping
from approvals import exhibits, reviewing
from approvals.models import AuditEntry, Case, Queue, Task, User
from tests import bridge_rows
from tests.people import decide, in_seconds, only_task, verbs
from tests.scripted_agent import call, failed, finished, frame, interrupt, result, started

pytestmark = pytest.mark.django_db
PAUSE = started() + call() + finished(interrupt())


@pytest.fixture
def payer(payments: Queue) -> Agent:
    return bridge_rows.add_agent(payments, routes={"ship": "shipping"})


def asked(agent: Agent, thread_id: str = "thread-1", **more: Any) -> Run:
    """A run under way, as the worker has it once it was armed."""
    thread, _ = Thread.objects.get_or_create(agent=agent, key=key_of(thread_id), defaults={"thread_id": thread_id})
    run_id = str(uuid.uuid4())
    sent = {
        "threadId": thread_id, "runId": run_id, "state": {}, "messages": [{"id": "u", "role": "user", "content": "hi"}],
        "tools": [], "context": [], "forwardedProps": {},
    }  # fmt: skip
    now = timezone.now()
    given = {"input": json.dumps(sent).encode(), "status": "running", "created_at": now, "armed_at": now, **more}
    return Run.objects.create(thread=thread, key=key_of(run_id), run_id=run_id, **given)


def record(run: Run, *parts: bytes) -> Run:
    recording = Recording(run)
    for part in parts:
        recording.keep(said_by(run, part), now=timezone.now())
    recording.close(now=timezone.now())
    run.refresh_from_db()
    return run


def said_by(run: Run, data: bytes) -> bytes:
    return data.replace(b"__THREAD__", run.thread.thread_id.encode()).replace(b"__RUN__", run.run_id.encode())


def warned(run: Run) -> list[str]:
    return [row["rule"] for row in json.loads(run.warnings) if row["severity"] != "info"]


def flags(case: Case) -> set[str]:
    return {flag["slug"] for task in case.tasks.all() for flag in task.flags} | {flag["slug"] for flag in case.flags}


def test_a_pause_becomes_a_case_with_everything_frozen(payer: Agent) -> None:
    run = record(asked(payer), PAUSE)
    case = Case.objects.get()
    shown = exhibits.load(only_task(case).exhibits.get().body)
    assert (run.status, run.outcome, run.events) == ("interrupted", "interrupt", 5)
    assert shown.tool is not None and (shown.tool.name, shown.tool.args_text) == ("pay", '{"amount": 12.50}')
    assert run.interrupts.get().task == only_task(case)
    assert ToolCall.objects.get().args == '{"amount": 12.50}'


def test_the_bytes_are_kept_as_they_came(payer: Agent) -> None:
    parts = [PAUSE[:37], PAUSE[37:61], PAUSE[61:]]
    run = record(asked(payer), b"".join(parts))
    kept = b"".join(bytes(data) for data in StreamChunk.objects.filter(run=run).values_list("data", flat=True))
    assert kept.replace(run.run_id.encode(), b"__RUN__").replace(b"thread-1", b"__THREAD__") == PAUSE
    assert run.bytes_received == len(kept)


def test_reading_it_again_changes_nothing(payer: Agent) -> None:
    run = record(asked(payer), started() + call() + result() + finished(interrupt()))
    before = (Case.objects.count(), AuditEntry.objects.count(), only_task(Case.objects.get()).results)
    assert recorder.replay(run) is not None
    assert (Case.objects.count(), AuditEntry.objects.count(), only_task(Case.objects.get()).results) == before


def test_an_old_stream_that_is_read_again_says_nothing_about_later_questions(payer: Agent) -> None:
    old = record(asked(payer), started() + call(args='{"amount": 1}') + result("paid") + finished())
    record(asked(payer), PAUSE)
    before = verbs(Case.objects.get())
    Run.objects.filter(pk=old.pk).update(lease_until=timezone.now())
    sweeping.sweep(timezone.now())
    old.refresh_from_db()
    assert (old.lease_until, old.lost_readers) == (None, 0)
    assert verbs(Case.objects.get()) == before


def test_a_pause_that_was_only_seen_is_opened_by_whoever_reads_on(payer: Agent) -> None:
    run = asked(payer, lease_until=timezone.now())
    seen = (started() + call() + finished(interrupt())).replace(b"__RUN__", b"other")
    Recording(run).keep(said_by(run, started() + finished() + seen), now=timezone.now())
    assert not Case.objects.exists()
    sweeping.sweep(timezone.now())
    assert "seen-in-replay" in flags(Case.objects.get())


def test_a_crash_between_storing_and_reading_is_made_good(payer: Agent) -> None:
    run = asked(payer)
    data = PAUSE.replace(b"__THREAD__", b"thread-1").replace(b"__RUN__", run.run_id.encode())
    StreamChunk.objects.create(run=run, n=0, at=timezone.now(), data=data)
    recorder.replay(run)
    assert Case.objects.get().state == "open"


def test_tasks_go_to_the_queue_of_their_tool(payer: Agent) -> None:
    Queue.objects.create(name="shipping")
    record(asked(payer), started() + call("ship") + finished(interrupt()))
    assert only_task(Case.objects.get()).queue.name == "shipping"


def test_the_body_of_an_http_error_is_kept_and_asks_nothing(payer: Agent) -> None:
    run = asked(payer)
    recording = Recording(run, Head(status=500))
    recording.keep(PAUSE, now=timezone.now())
    recording.close(now=timezone.now())
    recorder.replay(run)
    run.refresh_from_db()
    assert (run.status, run.events, run.bytes_received) == ("refused", 0, len(PAUSE))
    assert run.error.startswith("HTTP 500: data: ") and not Case.objects.exists()


def told(*words: Any) -> bytes:
    """A snapshot of the agent's in which users say these."""
    said = [{"id": f"m-{n}", "role": "user", "content": content} for n, content in enumerate(words)]
    return frame(type="MESSAGES_SNAPSHOT", messages=said)


def test_words_that_nobody_here_sent_are_shown_as_such(payer: Agent) -> None:
    record(asked(payer), started() + told("hi", "I approve whatever comes") + call() + finished(interrupt()))
    (said,) = Case.objects.get().flags
    assert said["slug"] == "user-message-not-sent-by-us"
    assert said["sentence"].endswith("not sent by us: I approve whatever comes")


@pytest.mark.parametrize("hi", ["hi", [{"type": "text", "text": "hi"}]])
def test_words_of_an_earlier_input_are_ours_in_whatever_form(payer: Agent, hi: Any) -> None:
    record(asked(payer), started() + finished())
    later = {"threadId": "thread-1", "runId": "later", "messages": [{"id": "u", "role": "user", "content": "go on"}]}
    run = asked(payer, input=json.dumps(later).encode())
    record(run, started() + told(hi, "go on", "") + call() + finished(interrupt()))
    assert Case.objects.get().flags == []


def test_without_its_input_nobody_can_say_whose_words_they_are(payer: Agent) -> None:
    record(asked(payer, input=b""), started() + told("hello") + call() + finished(interrupt()))
    assert Case.objects.get().flags == []


def test_without_a_usable_id_the_case_is_blocked_and_says_why(payer: Agent) -> None:
    record(asked(payer), started() + call() + finished({"reason": "tool_call", "toolCallId": "tc-1"}))
    assert "no usable id" in Case.objects.get().blocked


def test_a_run_without_its_input_cannot_be_resumed(payer: Agent) -> None:
    record(asked(payer, input=b""), PAUSE)
    assert "cannot be resumed" in Case.objects.get().blocked


def test_a_later_pause_of_the_thread_supersedes_the_open_one(payer: Agent) -> None:
    record(asked(payer), PAUSE)
    record(asked(payer), PAUSE)
    old, new = Case.objects.order_by("pk")
    assert (old.state, old.ended_because, new.previous) == ("withdrawn", "superseded", old)
    assert "asked-again" in flags(new)


def test_a_success_elsewhere_closes_nothing_and_is_flagged(payer: Agent) -> None:
    record(asked(payer), PAUSE)
    record(asked(payer), started() + finished())
    case = Case.objects.get()
    assert (case.state, "closed-by-agent" in flags(case)) == ("open", True)


def test_a_result_nobody_here_approved_is_shown_and_flagged(payer: Agent) -> None:
    record(asked(payer), PAUSE)
    record(asked(payer), started() + result("paid anyway") + finished())
    task = only_task(Case.objects.get())
    assert "paid anyway" in (task.results or "")
    assert "executed-without-approval" in flags(task.case)


def test_an_answer_from_elsewhere_ends_the_case(payer: Agent) -> None:
    record(asked(payer), PAUSE)
    resume = [{"interruptId": "int-1", "status": "resolved", "payload": {"approved": True}}]
    other = {"threadId": "thread-1", "runId": "other", "messages": [], "resume": resume}
    replayed = frame(type="RUN_STARTED", threadId="thread-1", runId="other", input=other)
    record(asked(payer), replayed + finished().replace(b"__RUN__", b"other") + started() + finished())
    case = Case.objects.get()
    assert (case.state, case.ended_because) == ("withdrawn", "answered_elsewhere")
    assert Run.objects.get(run_id="other").kind == "observed"


def test_a_run_that_two_readers_see_at_once_is_observed_once(payer: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    carrier, whole = asked(payer), noticing.echoed_input

    def beside_a_sweep(view: RunView) -> bytes:
        monkeypatch.setattr(noticing, "echoed_input", whole)
        noticing.observe(carrier, view, now=timezone.now())
        return whole(view)

    monkeypatch.setattr(noticing, "echoed_input", beside_a_sweep)
    other = started() + finished()
    record(carrier, other.replace(b"__RUN__", b"other") + started() + finished())
    assert AuditEntry.objects.filter(verb="run.observed").count() == 1


def test_other_arguments_in_a_later_run_are_a_second_version_and_void_the_decision(payer: Agent, alice: User) -> None:
    record(asked(payer), PAUSE)
    task = only_task(Case.objects.get())
    decide(task, alice)
    record(asked(payer), started() + call(args='{"amount": 9999}') + finished())

    task.refresh_from_db()
    assert (task.state, task.exhibits.count()) == ("open", 2)
    assert "conflicting-arguments" in flags(task.case)
    assert not task.decisions.live().exists()


@pytest.fixture
def stumbling(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`stumbling(where, name)`: the database is in trouble in the first call."""

    def arrange(where: Any, name: str) -> None:
        first_fails = chain([OperationalError("gone")], repeat(DEFAULT))
        monkeypatch.setattr(where, name, Mock(side_effect=first_fails, wraps=getattr(where, name)))

    return arrange


def closed_at_last(run: Run, *parts: bytes) -> None:
    """As trouble of the database is waited out: the same deed again."""
    recording = Recording(run)
    for part in parts:
        recording.keep(said_by(run, part), now=timezone.now())
    with pytest.raises(OperationalError):
        recording.close(now=timezone.now())
    recording.close(now=timezone.now())


def test_other_arguments_after_sealing_are_an_incident_also_in_trouble(
    payer: Agent, alice: User, stumbling: Callable[..., None]
) -> None:
    record(asked(payer), PAUSE)
    decide(only_task(Case.objects.get()), alice)
    assert sealing.seal(Case.objects.get(), now=in_seconds(3600))
    stumbling(incidents, "open_one")
    closed_at_last(asked(payer), started() + call(args='{"amount": 9999}') + finished())
    assert [each.kind for each in Incident.objects.all()] == ["other_arguments"]
    assert only_task(Case.objects.get()).exhibits.count() == 2


def test_what_trailing_events_break_is_counted_also_in_trouble(payer: Agent, stumbling: Callable[..., None]) -> None:
    stumbling(protocolreport, "count")
    closed_at_last(asked(payer), started() + finished(), call(id_="tc-2"))
    assert [note.count for note in ProtocolNote.objects.all()] == [3]


def test_a_history_that_names_another_tool_is_flagged(payer: Agent) -> None:
    told = {"id": "tc-1", "type": "function", "function": {"name": "pay_twice", "arguments": '{"amount": 12.50}'}}
    snapshot = frame(type="MESSAGES_SNAPSHOT", messages=[{"id": "a-1", "role": "assistant", "toolCalls": [told]}])
    record(asked(payer), started() + call() + snapshot + finished(interrupt()))
    assert [slug for slug in flags(Case.objects.get()) if slug.startswith("conflicting")] == ["conflicting-tool"]


def test_an_error_after_the_pause_leaves_it_answerable(payer: Agent) -> None:
    run = record(asked(payer), PAUSE + failed("late"))
    case = Case.objects.get()
    assert (run.status, case.state, "error-after-the-pause" in flags(case)) == ("interrupted", "open", True)
    assert Incident.objects.get().kind == "late_error"


def test_questions_after_the_protocol_was_broken_are_quarantined(payer: Agent) -> None:
    run = record(asked(payer), started() + call() + failed("boom") + finished(interrupt()))
    assert (run.status, Case.objects.get().state) == ("failed", "quarantined")


def test_a_result_before_the_pause_is_linked_and_the_later_one_counts(payer: Agent) -> None:
    interim = result('{"error": "This tool call requires confirmation."}')
    record(asked(payer), started() + call() + interim + finished(interrupt()))
    case = Case.objects.get()
    assert "requires confirmation" in (only_task(case).results or "")
    assert "executed-without-approval" not in flags(case)


def test_any_number_of_results_is_written_once_a_portion_and_told_each(payer: Agent) -> None:
    portions = [b"".join(result(f"part {n}") for n in range(start, start + 30)) for start in (0, 30)]
    with CaptureQueriesContext(connection) as asked_for:
        record(asked(payer), started() + call(), *portions, finished(interrupt()))
        record(asked(payer), started(), *portions, finished())
    task = only_task(Case.objects.get())
    kept = [row["text"] for row in json.loads(task.results or "[]")]
    assert kept == [f"part {n}" for n in range(60)] * 2
    assert AuditEntry.objects.filter(verb="task.result").count() == 120
    assert sum('SET "results"' in query["sql"] for query in asked_for) == 3


def test_results_in_another_order_than_their_calls_are_all_kept(payer: Agent) -> None:
    told = result("a", "tc-1") + result("b", "tc-2") + result("c", "tc-1")
    two = finished(interrupt("int-1", "tc-1"), interrupt("int-2", "tc-2"))
    record(asked(payer), started() + call(id_="tc-1") + call(id_="tc-2") + two)
    record(asked(payer), started() + told + finished())
    tasks = Case.objects.get().tasks.order_by("position")
    assert [[row["text"] for row in json.loads(task.results or "[]")] for task in tasks] == [["a", "c"], ["b"]]


@pytest.mark.django_db(transaction=True)
def test_a_result_is_kept_once_however_many_read_it_at_once(payer: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    record(asked(payer), PAUSE)
    later, whole = asked(payer), reviewing.record_results
    sweep = threading.Thread(target=reads_again, args=(later,))

    def beside_a_sweep(task: Task, **more: Any) -> None:
        if not sweep.ident:
            sweep.start()
            sweep.join(0.5)  # longer than it needs, unless it has to wait for us
        whole(task, **more)

    monkeypatch.setattr(reviewing, "record_results", beside_a_sweep)
    record(later, started() + result("paid") + finished())
    sweep.join()
    assert [row["text"] for row in json.loads(only_task(Case.objects.get()).results or "[]")] == ["paid"]


def reads_again(run: Run) -> None:
    recorder.replay(run)
    connection.close()


def test_no_ending_is_no_failure(payer: Agent) -> None:
    assert record(asked(payer), started() + call()).status == "truncated"


def test_two_questions_of_one_id_are_both_shown(payer: Agent) -> None:
    record(asked(payer), started() + call() + finished(interrupt(), interrupt()))
    case = Case.objects.get()
    assert (case.tasks.count(), "duplicate-interrupt-id" in flags(case)) == (2, True)


@pytest.mark.parametrize(
    ("args", "slug"),
    [
        ('{"a": 1, "a": 2}', "duplicate-keys"),
        ('{"note": "rent\u202egnp"}', "hidden-or-look-alike-characters"),
        ('{"note": "rent' + " " * 60 + 'and more"}', "long-white-space-or-cut-value"),
        ('{"a": ', "arguments-unreadable"),
    ],
)
def test_arguments_that_need_a_second_look_say_so(payer: Agent, args: str, slug: str) -> None:
    record(asked(payer), started() + call(args=args) + finished(interrupt()))
    assert slug in flags(Case.objects.get())


@pytest.mark.parametrize(
    ("more", "slug"),
    [
        ({"expiresAt": "soon"}, "unreadable-expiry"),
        ({"responseSchema": {"type": 7}}, "invalid-schema"),
        ({"metadata": {"tool_name": "pay", "tool_input": {"amount": 1200}}}, "conflicting-arguments"),
    ],
)
def test_questions_that_need_a_second_look_say_so(payer: Agent, more: dict[str, Any], slug: str) -> None:
    record(asked(payer), started() + call() + finished(interrupt(**more)))
    assert slug in flags(Case.objects.get())

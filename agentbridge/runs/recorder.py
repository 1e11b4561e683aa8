"""One HTTP answer of an agent, put on record: bytes first, committed; then what they mean.

`Recording.keep` stores what came and only then reads it, so that nothing the agent said is lost whatever we make of it,
and `replay` can read it again after a crash. Everything here runs in a database thread; the worker awaits it.
"""

from __future__ import annotations

from datetime import datetime
from itertools import groupby
from typing import cast

from django.conf import settings
from django.db import transaction

from agentbridge.delivery import crash, outgoing, standing
from agentbridge.delivery.tickets import Head
from agentbridge.models import Run, StreamChunk, ToolCall
from agentbridge.runs import concluding, noticing
from agentbridge.wire import protocol
from agentbridge.wire.reading import Reader
from agentbridge.wire.record import (
    ENDS,
    CallState,
    CallView,
    Echo,
    Fact,
    LateError,
    Limits,
    Result,
    RunInput,
    RunView,
    Started,
)
from agentbridge.wire.toolcalls import results_retold
from approvals import clock
from approvals.prepared import Addition, Change, Prepared, slot

EXCERPT = 500
other_runs = Prepared(  # without those that were first seen in its own stream, by whoever read it before
    lambda: (
        Run.objects.filter(thread=slot("thread"))
        .exclude(pk=slot("run"))
        .exclude(pk__gt=slot("run"), kind=Run.Kind.OBSERVED)
        .values_list("run_id")
    )
)
calls_before = Prepared(
    lambda: ToolCall.objects.filter(run__thread=slot("thread"), run__lt=slot("run")).order_by("run", "position")
)
heads = Change(lambda: Run.objects.filter(pk=slot("run")), "http_status", "http_version_note", "bytes_sent")
progress = Change(lambda: Run.objects.filter(pk=slot("run")), "bytes_received", "events")
new_chunks = Addition(StreamChunk)


class Recording:
    """What is known so far about one answer. Not shared between threads at the same time."""

    def __init__(self, run: Run, head: Head | None = None) -> None:
        self.run = run
        self.reader = reader_for(run)
        self.chunks = 0
        self.received = 0
        self.head = head or Head()
        self.beginning = b""  # for the sentence that tells what a refusal said
        self._half: bytes | None = None  # what was begun to be kept, and not heard of to the end
        self._due: list[Fact] = []  # read, and not yet acted on to the end
        self._is_over = False

    @property
    def view(self) -> RunView | None:
        """The run we asked for, as far as it was read."""
        return next((view for view in self.reader.runs if view.ours), None)

    @property
    def ended(self) -> bool:
        """The run's end was seen: reading on is for late news only."""
        return self.view is not None and self.view.ended

    def opened(self, head: Head) -> None:
        """The head of the answer is here."""
        self.head = head
        told = {"http_status": head.status, "http_version_note": head.server[:200], "bytes_sent": head.bytes_sent}
        heads.set(told, run=self.run.pk)
        if head.status == 200 and not head.trouble:
            standing.heard(self.run.thread.agent, head.server[:200], now=clock.now())

    def keep(self, data: bytes, *, now: datetime) -> None:
        """Store bytes as they came, then read them and act on what they say.

        After trouble with the database it may be called again with the same bytes: it goes on where it was.
        """
        if data is not self._half or not self._due:
            self._store(data, again=data is self._half, now=now)
            self._due += self.read(data)
        self.act(self._due, now=now)
        self._half, self._due = None, []

    def _store(self, data: bytes, *, again: bool, now: datetime) -> None:
        self._half = data
        received = self.received + len(data)
        if not (again and self.run.chunks.filter(n=self.chunks).exists()):  # its commit may not have been heard of
            self._write(data, received=received, now=now)
        self.received, self.chunks = received, self.chunks + 1
        crash.point("chunk_stored")

    @transaction.atomic
    def _write(self, data: bytes, *, received: int, now: datetime) -> None:
        new_chunks.add(StreamChunk(run=self.run, n=self.chunks, at=now, data=data))
        progress.set({"bytes_received": received, "events": self.reader.events}, run=self.run.pk)

    def read(self, data: bytes) -> list[Fact]:
        """What stored bytes say; `act` does something about it. An HTTP error is no run and asks nothing (A.2)."""
        self.beginning += data[: EXCERPT - len(self.beginning)]
        if self.head.refused:
            self.reader.bytes += len(data)
            return []
        return self.reader.feed(data)

    def close(self, *, cut: str | None = None, trouble: str = "", now: datetime) -> None:
        """The body is over: by itself, by `trouble` on the way, or because we stopped reading (`cut` says why)."""
        if self.head.refused:
            said = self.beginning.decode("utf-8", "replace").strip()
            trouble = f"HTTP {self.head.status}: {said}" if said else f"HTTP {self.head.status}"
        elif self.reader.bytes and not self.reader.events:
            trouble = trouble or self.head.trouble or f"Not one event could be read in {self.reader.bytes} bytes."
        self.head.trouble = trouble or self.head.trouble
        if not self._is_over:
            self._is_over, self._due = True, self.reader.close(cut=cut)
        self.act(self._due, now=now)
        if self.view is None or not self.view.ended:  # not one word that could be read
            concluding.conclude(self.run, self.unstarted(cut), head=self.head, now=now)
        noticing.last_words(self.run, self.reader, now=now)
        concluding.close(self.run)

    def unstarted(self, cut: str | None) -> RunView:
        return RunView(
            run_id=self.run.run_id, thread_id=self.run.thread.thread_id, ours=True, started=False, status="truncated",
            cut=cut,
        )  # fmt: skip

    def act(self, facts: list[Fact], *, now: datetime) -> None:
        for is_result, together in groupby(facts, key=is_our_result):
            if is_result:
                found = cast(list[Result], list(together))
                noticing.results(self.run, found[0].run, [each.result for each in found], now=now)
                continue
            for fact in together:
                if fact.run.ours:
                    self._about_ours(fact, now=now)
                else:
                    noticing.other_run(self.run, fact, now=now)

    def _about_ours(self, fact: Fact, *, now: datetime) -> None:
        match fact:
            case Started():
                concluding.accepted(self.run, fact.run, now=now)
            case LateError():
                noticing.late_error(self.run, fact, now=now)
            case Echo():
                pass  # our own resume, said back to us
            case _ if isinstance(fact, ENDS):
                crash.point("before_conclude")
                if self.run.kind == Run.Kind.RESUMED:  # another run's snapshot may tell what is long known
                    fact.run.results += results_retold(fact.run)
                concluding.conclude(self.run, fact.run, head=self.head, now=now)
                crash.point("concluded")
                # those that came before there was a task to link them to
                noticing.results(self.run, fact.run, fact.run.results, now=now)


def is_our_result(fact: Fact) -> bool:
    return isinstance(fact, Result) and fact.run.ours


def reader_for(run: Run) -> Reader:
    """A reader that knows what the thread knew when this run was asked for."""
    thread = run.thread
    others = frozenset(run_id for (run_id,) in other_runs.rows(thread=thread.pk, run=run.pk))
    return Reader(
        thread_id=thread.thread_id,
        run_id=run.run_id,
        run_input=input_of(run),
        tolerances=tuple(thread.agent.tolerances),
        limits=Limits(frame=settings.FRAME_LIMIT, stream=settings.STREAM_LIMIT),
        earlier_calls=earlier_calls(run) if others else {},
        known_runs=others,
    )


def earlier_calls(run: Run) -> dict[str, CallView]:
    """Of the runs before this one on its thread; of those with one id, the newest."""
    return {call.tool_call_id: view_of(call) for call in calls_before.rows(thread=run.thread_id, run=run.pk)}


def input_of(run: Run) -> RunInput | None:
    try:
        return outgoing.asked_input(run) if run.input else None
    except protocol.ProtocolError:
        return None  # pushed runs may carry none that can be read; the case then says that it cannot be resumed


def view_of(call: ToolCall) -> CallView:
    state = cast(CallState, call.state)
    return CallView(id=call.tool_call_id, name=call.name, args=call.args, state=state, position=call.position)


def replay(run: Run, *, now: datetime | None = None) -> RunView | None:
    """Read a run's stored bytes again, as after a crash between storing and understanding. Deeds done are not repeated.

    None: the bytes hold no end of the run, and the caller decides what that means.
    """
    now = now or clock.now()
    recording = Recording(run, Head(status=run.http_status, bytes_sent=run.bytes_sent))
    facts: list[Fact] = []
    for data in run.chunks.order_by("n").values_list("data", flat=True).iterator():
        facts += recording.read(bytes(data))
    recording.act(facts, now=now)
    if not recording.ended and run.status in concluding.UNDECIDED:
        return None
    recording.close(now=now)
    return recording.view

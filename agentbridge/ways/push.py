"""A whole run that an agent's host hands in, because nobody can call the agent: kept once, by its bytes.

Stored before it is understood, like everything: a push that was cut off by a crash is finished by the next one, or by
the worker's sweep.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from agentbridge import trail
from agentbridge.delivery.tickets import Head
from agentbridge.models import Agent, Run, StreamChunk, Thread
from agentbridge.models.agents import key_of
from agentbridge.runs import starting
from agentbridge.runs.recorder import Recording
from agentbridge.ways import comparing
from agentbridge.wire import protocol
from agentbridge.wire.record import RunInput
from agentbridge.wire.sse import FrameTooLarge, Parser
from approvals import jsontext
from approvals.refusals import WrongState

PIECE = 256 * 1024
OPEN = (Run.Status.RUNNING, Run.Status.UNKNOWN)  # unknown: not pushed in time, and news all the same
LINES = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, kw_only=True)
class Pushed:
    """One run as it was handed in. `input` None: only its events came; enough for a run whose input we gave out."""

    thread_id: str
    run_id: str
    input: bytes | None
    stream: bytes
    whole: bool = True  # False: the input is what RUN_STARTED says of it


def read_document(body: bytes) -> Pushed:
    """`{"input": RunAgentInput, "events": […]}`; the texts of both are kept. Raises ProtocolError."""
    try:
        members = jsontext.members(body.decode("utf-8"))
    except (UnicodeDecodeError, jsontext.JSONTextError, TypeError) as error:
        raise protocol.ProtocolError("", _("The body is no JSON object: %(error)s") % {"error": error}) from error
    for name, sign in (("input", "{"), ("events", "[")):
        if not members.get(name, "").startswith(sign):
            raise protocol.ProtocolError(name, _("A run is pushed as its input and the list of its events."))
    asked = identified(protocol.read_input(members["input"], partial=True))
    stream = "".join(_frame(text) for text in jsontext.items(members["events"]))
    sent = members["input"].encode("utf-8", "surrogatepass")
    return Pushed(thread_id=asked.thread_id, run_id=asked.run_id, input=sent, stream=stream.encode())


def _frame(text: str) -> str:
    return "".join(f"data: {line}\n" for line in LINES.split(text)) + "\n"


def read_stream(agent: Agent, body: bytes) -> Pushed:
    """The event stream itself; a RUN_STARTED of it says which run it is. Raises ProtocolError.

    Behind the thread's earlier runs, told again, comes the one that was asked for (H-1): the last one whose input is
    known, from here or from the stream. None: the last of all.
    """
    starts = _starts(body)
    if not starts:
        raise protocol.ProtocolError("", _("The stream has no RUN_STARTED that says which run it is."))
    known = (event for event in reversed(starts) if event.source("input") is not None or _handed_out(agent, event))
    return _started(next(known, starts[-1]), body)


def _starts(body: bytes) -> list[protocol.Event]:
    try:
        frames = [*(parser := Parser(limit=settings.FRAME_LIMIT)).feed(body), *parser.close()]
    except FrameTooLarge as large:
        frames = large.frames
    found: list[protocol.Event] = []
    for frame in frames:
        if not found or "RUN_STARTED" in frame.data:  # the others need not be read for this
            event = protocol.parse_event(frame.data)
            found += [event] if isinstance(event, protocol.Event) and event.type == "RUN_STARTED" else []
    return found


def _handed_out(agent: Agent, event: protocol.Event) -> bool:
    keys = {"key": key_of(event.body["runId"]), "thread__key": key_of(event.body["threadId"])}
    return Run.objects.filter(thread__agent=agent, kind=Run.Kind.RESUMED, way=Run.Way.PUSH, **keys).exists()


def _started(event: protocol.Event, body: bytes) -> Pushed:
    source = event.source("input")
    asked = None if source is None else protocol.read_input(source, partial=True)
    sent = None if source is None else source.encode("utf-8", "surrogatepass")
    named = RunInput(thread_id=event.body["threadId"], run_id=event.body["runId"])
    if asked is not None and (asked.thread_id, asked.run_id) != (named.thread_id, named.run_id):
        raise protocol.ProtocolError("input", _("The input is another run's than the one that started."))
    return Pushed(thread_id=identified(named).thread_id, run_id=named.run_id, input=sent, stream=body, whole=False)


def identified(asked: RunInput) -> RunInput:
    for name, value in (("threadId", asked.thread_id), ("runId", asked.run_id)):
        if not value:
            raise protocol.ProtocolError(name, _("The input has no %(name)s.") % {"name": name})
    return asked


def push(agent: Agent, pushed: Pushed, *, now: datetime) -> Run:
    """Keep the run and act on it; the same bytes again change nothing.

    Raises WrongState for other bytes under a known id, ThreadBusy, AgentOff, ProtocolError without an input.
    """
    try:
        with transaction.atomic():
            run = _kept(agent, pushed, now=now)
    except IntegrityError as lost:  # the unique index on runs in flight
        raise starting.ThreadBusy(_("A run of this thread has not ended yet.")) from lost
    understand(run, now=now)
    return run


def _kept(agent: Agent, pushed: Pushed, *, now: datetime) -> Run:
    starting.check_agent(agent)
    thread = starting.thread_of(agent, pushed.thread_id)
    asked = thread.runs.filter(key=key_of(pushed.run_id))
    delivery = comparing.locked_delivery(asked.first())
    run = asked.select_for_update(of=("self",), no_key=True).first()
    if run is not None and run.chunks.exists():
        if stored(run) != pushed.stream or _asks_otherwise(run, pushed):
            raise WrongState(_("This run was pushed before, with other bytes."))
        return _whole(run)
    if run is None:
        run = _new(thread, pushed, now=now)
    elif run.way != Run.Way.PUSH or run.status not in OPEN or run.armed_at is None:
        raise starting.RunKnown(_("This agent has a run of that id already."))
    _store(run, pushed.stream, now=now)
    run = _whole(run)
    if delivery is not None and comparing.carries_others(run, pushed.input, whole=pushed.whole):
        comparing.refuse(run, delivery, now=now)
        return _whole(run)
    return run


def _asks_otherwise(run: Run, pushed: Pushed) -> bool:
    """Not the input that came with these events before; of a run that we handed out, only its answers count."""
    if run.resume_id:
        return comparing.carries_others(run, pushed.input, whole=pushed.whole) != (run.error == comparing.OTHERS)
    return pushed.input is not None and pushed.input != bytes(run.input)


def _whole(run: Run) -> Run:
    return Run.objects.select_related("thread__agent", "resume__case").get(pk=run.pk)


def _new(thread: Thread, pushed: Pushed, *, now: datetime) -> Run:
    if pushed.input is None:
        raise protocol.ProtocolError("input", _("RUN_STARTED has no input: without it nothing could be answered."))
    run = Run.objects.create(
        thread=thread, key=key_of(pushed.run_id), run_id=pushed.run_id, kind=Run.Kind.FIRST, way=Run.Way.PUSH,
        status=Run.Status.RUNNING, input=pushed.input, input_digest=trail.sha256(pushed.input), created_at=now,
        armed_at=now, lease_owner="push", lease_until=now + timedelta(seconds=settings.LEASE_SECONDS),
    )  # fmt: skip
    data = {"inputSha256": run.input_digest, "streamSha256": trail.sha256(pushed.stream)}
    trail.of_run("run.pushed", f"The host of {thread.agent.name} handed in a run.", run=run, data=data, now=now)
    return run


def _store(run: Run, stream: bytes, *, now: datetime) -> None:
    pieces = [stream[at : at + PIECE] for at in range(0, len(stream), PIECE)] or [b""]
    StreamChunk.objects.bulk_create(
        [StreamChunk(run=run, n=n, at=now, data=data) for n, data in enumerate(pieces)], batch_size=20
    )
    Run.objects.filter(pk=run.pk).update(bytes_received=len(stream), http_status=200)


def stored(run: Run) -> bytes:
    return b"".join(bytes(data) for data in run.chunks.order_by("n").values_list("data", flat=True))


def understand(run: Run, *, now: datetime) -> None:
    """Read what is stored to its end, unless that was done before."""
    if run.status not in OPEN:
        return
    recording = Recording(run)
    recording.head = Head(status=200, bytes_sent=len(run.input))
    for data in run.chunks.order_by("n").values_list("data", flat=True).iterator():
        recording.act(recording.reader.feed(bytes(data)), now=now)
    recording.close(now=now)

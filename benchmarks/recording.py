"""What it costs to keep an agent's stream, beside only reading it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

from django.utils import timezone

from agentbridge.models import Agent, Run, StreamChunk, Thread
from agentbridge.models.agents import key_of
from agentbridge.runs.recorder import Recording
from agentbridge.wire import sse
from agentbridge.wire.reading import Reader
from agentbridge.work.delivering import BATCH_BYTES
from approvals import people
from benchmarks import Measured, row

DELTAS = 40_000
REPEATS = 7
WORDS = ["The", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog", "and", "asks", "to", "pay."]


def stream(deltas: int, *, words: int = 1) -> Iterator[bytes]:
    """A run that says something in so many deltas, proposes a call and pauses."""
    yield frame(type="RUN_STARTED", threadId="t", runId="r")
    yield frame(type="TEXT_MESSAGE_START", messageId="m", role="assistant")
    for n in range(deltas):
        said = " ".join(WORDS[(n + k) % len(WORDS)] for k in range(words))
        yield frame(type="TEXT_MESSAGE_CONTENT", messageId="m", delta=said)
    yield frame(type="TEXT_MESSAGE_END", messageId="m")
    yield frame(type="TOOL_CALL_START", toolCallId="c", toolCallName="pay")
    yield frame(type="TOOL_CALL_ARGS", toolCallId="c", delta='{"amount": 12.50}')
    yield frame(type="TOOL_CALL_END", toolCallId="c")
    asked = [{"id": "int-1", "reason": "tool_call", "toolCallId": "c"}]
    outcome = {"type": "interrupt", "interrupts": asked}
    yield frame(type="RUN_FINISHED", threadId="t", runId="r", outcome=outcome)


def frame(**event: object) -> bytes:
    return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"


def batches(raw: bytes) -> list[bytes]:
    """In the portions in which the worker stores."""
    return [raw[n : n + BATCH_BYTES] for n in range(0, len(raw), BATCH_BYTES)]


def only_read(parts: list[bytes]) -> None:
    """What any client does: split into events, decode each."""
    parser = sse.Parser()
    for part in parts:
        for each in parser.feed(part):
            json.loads(each.data)


def read(parts: list[bytes]) -> None:
    """The same by our reader: judged, put together, nothing stored."""
    reader = Reader(thread_id="t", run_id="r", run_input=None)
    for part in parts:
        reader.feed(part)
    reader.close()


def record(parts: list[bytes]) -> Run:
    """Stored and committed as it comes, read, and made into a case."""
    recording = Recording(new_run())
    for part in parts:
        recording.keep(part, now=timezone.now())
    recording.close(now=timezone.now())
    return recording.run


def new_run() -> Run:
    now = timezone.now()
    queue = people.set_queue("bench", now=now)
    made = {"name": "Bench", "url": "https://agent.example/", "queue": queue, "created_at": now}
    agent, _ = Agent.objects.get_or_create(slug="bench", defaults=made)
    number = Thread.objects.count()
    thread = Thread.objects.create(agent=agent, key=key_of(f"t{number}"), thread_id=f"t{number}")
    asked = json.dumps({"threadId": f"t{number}", "runId": "r", "messages": []}).encode()
    run = Run.objects.create(thread=thread, key=key_of("r"), run_id="r", status="running", input=asked, created_at=now)
    return Run.objects.select_related("thread__agent", "resume__case").get(pk=run.pk)


def quickest(*deeds: Callable[[], object]) -> list[float]:
    """The best time of each, taken in turns, so that a busy moment of the machine hits all of them."""
    times: list[list[float]] = [[] for _ in deeds]
    for _ in range(REPEATS):
        for deed, taken in zip(deeds, times, strict=True):
            began = perf_counter()
            deed()
            taken.append(perf_counter() - began)
    return [min(taken) for taken in times]


def compared(base: Callable[[list[bytes]], object], deed: Callable[[list[bytes]], object]) -> Measured:
    parts = batches(b"".join(stream(DELTAS)))
    usual, ours = quickest(lambda: base(parts), lambda: deed(parts))
    detail = f"{DELTAS} deltas: {usual * 1000:.0f} ms and {ours * 1000:.0f} ms"
    return Measured(figure=f"{usual / ours:.2f} ×", met=usual / ours >= 0.6, detail=detail)

@row("reading", what="reading a stream with judgment, beside splitting and decoding it", goal="≥ 0.6 ×")
def reading() -> Measured:
    return compared(only_read, read)


@row("recording", what="recording a stream, beside our reader that stores nothing", goal="≥ 0.6 ×")
def recording() -> Measured:
    return compared(read, record)


@row("rows", what="rows of a run whose text came word by word", goal="≤ 1.1 × for each megabyte")
def rows() -> Measured:
    many = b"".join(stream(DELTAS))
    few = b"".join(stream(DELTAS // 10, words=40))
    counts = [StreamChunk.objects.filter(run=record(batches(raw))).count() / len(raw) for raw in (few, many)]
    ratio = counts[1] / counts[0]
    detail = f"{counts[0] * 1e6:.1f} and {counts[1] * 1e6:.1f} rows for a megabyte"
    return Measured(figure=f"{ratio:.2f} ×", met=ratio <= 1.1, detail=detail)


@row("memory", what="memory for reading 60 MB beside 6 MB (RAW events)", goal="≤ 1.2 ×")
def memory() -> Measured:
    small, large = peak(6), peak(60)
    detail = f"{small / 1024:.0f} MB and {large / 1024:.0f} MB in all"
    return Measured(figure=f"{large / small:.2f} ×", met=large / small <= 1.2, detail=detail)


def peak(megabytes: int) -> int:
    """The most memory (kB) that a process of its own held while it read so much."""
    code = f"from benchmarks.recording import hold; hold({megabytes})"
    command = [sys.executable, "-c", f"import django; django.setup(); {code}"]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def hold(megabytes: int) -> None:
    reader = Reader(thread_id="t", run_id="r", run_input=None)
    reader.feed(frame(type="RUN_STARTED", threadId="t", runId="r"))
    part = frame(type="RAW", event={"text": "x" * 1000}) * 60
    for _ in range(megabytes * 1_000_000 // len(part)):
        reader.feed(part)
    reader.close()
    print(most_held())


def most_held() -> int:
    """The high-water mark of this process in kB; `ru_maxrss` would be that of the process it was started from too."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0])

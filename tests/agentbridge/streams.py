"""Streams for reader tests: events in short form, bodies, and one call that reads them all."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agentbridge.wire.reading import Reader
from agentbridge.wire.record import Fact, RunInput, RunView

STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
ASK = {"id": "int-1", "reason": "tool_call", "toolCallId": "tc-1"}
INPUT = RunInput(thread_id="t", run_id="r", messages=('{"id": "u1", "role":"user","content":"hi"}',), state='{"n":1.0}')


def event(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, **members}


def call(*deltas: str, id_: str = "tc-1", name: str = "pay", end: bool = True, **more: Any) -> list[dict[str, Any]]:
    args = [event("TOOL_CALL_ARGS", toolCallId=id_, delta=delta) for delta in deltas]
    start = event("TOOL_CALL_START", toolCallId=id_, toolCallName=name, **more)
    return [start, *args, *([event("TOOL_CALL_END", toolCallId=id_)] if end else [])]


def finished(outcome: Any = None, **more: Any) -> dict[str, Any]:
    stated = {} if outcome is None else {"outcome": outcome}
    return {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", **stated, **more}


def paused(*interrupts: Any) -> dict[str, Any]:
    return finished({"type": "interrupt", "interrupts": list(interrupts) or [ASK]})


def body(events: Iterable[Any]) -> bytes:
    """Events as dicts, frames as text."""
    frames = [one if isinstance(one, str) else json.dumps(one) for one in events]
    return "".join(f"data: {frame}\n\n" for frame in frames).encode()


class Told:
    """All that a reader said of one body."""

    def __init__(self, reader: Reader, facts: list[Fact]) -> None:
        self.reader = reader
        self.facts = [type(fact).__name__ for fact in facts]
        self.run: RunView = next(run for run in reader.runs if run.ours)

    def found(self, *severities: str) -> list[tuple[str, str]]:
        """(rule, where) of our run's warnings of these severities; all but info unless said."""
        wanted = severities or ("warning", "error")
        return [(warning.rule, warning.where) for warning in self.run.warnings if warning.severity in wanted]


def read(*events: Any, run_input: RunInput | None = INPUT, cut: str | None = None, **options: Any) -> Told:
    reader = Reader(thread_id="t", run_id="r", run_input=run_input, **options)
    return Told(reader, reader.feed(body(events)) + reader.close(cut=cut))

"""What is known about one HTTP answer of an agent: runs, calls, interrupts, results, facts in order of arrival.

Filled by `reading.Reader`; read by dialects, recorder and pages. Texts are exact: argument text is the deltas in order,
members named "text of JSON" are the characters of the frame. Nothing here is trusted, nothing here is interpreted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["info", "warning", "error"]
CallState = Literal["complete", "incomplete", "empty", "invalid", "missing"]
RunStatus = Literal["running", "succeeded", "interrupted", "cancelled", "failed", "rejected", "truncated", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Where we stop reading; a run that meets one is truncated by us, never failed by the agent."""

    frame: int = 10 * 1024 * 1024
    stream: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Warning:
    """One deviation, once: the rule it departs from, where, and a sentence for people."""

    rule: str  # "C-2", "T-77"… as numbered in the protocol notes
    severity: Severity
    where: str  # "12 TOOL_CALL_ARGS /delta": index of the event, its type, the member
    text: str


@dataclass(slots=True, kw_only=True)
class CallView:
    """One tool call of one run. While it is open, `args` is as of the last fact about it."""

    id: str
    name: str = ""
    args: str = ""
    state: CallState = "incomplete"
    position: int = 0
    parent_message_id: str | None = None
    subagent_run_id: str | None = None
    conflict: str | None = None  # argument text of a second streaming in the same run that differs
    metadata: str | None = None  # text of JSON


@dataclass(slots=True, kw_only=True)
class ResultView:
    """What a tool returned, or a refusal that looks the same (S-4)."""

    tool_call_id: str
    message_id: str
    text: str  # the string as sent, or the text parts joined by newlines
    parts: str | None = None  # text of JSON where the content came as a list of parts
    subagent_run_id: str | None = None
    known: bool = True  # False: no call of this thread that we know has this id
    retold: bool = False  # only the run's snapshot of the messages has it


@dataclass(slots=True, kw_only=True)
class InterruptView:
    """One member of `outcome.interrupts`, listed also when malformed; `id` is None when it cannot be used."""

    position: int
    id: str | None
    reason: str = ""
    message: str | None = None
    tool_call_id: str | None = None
    response_schema: str | None = None  # text of JSON
    expires_at: str | None = None  # as received
    metadata: str | None = None  # text of JSON
    subagent_run_id: str | None = None
    raw: str = ""  # the member exactly as received
    quarantined: bool = False
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomView:
    """A CUSTOM event: no protocol meaning, but dialects look at it (L-1, L-5)."""

    name: str
    value: str  # text of JSON
    raw_event: str | None = None  # text of JSON


@dataclass(slots=True, kw_only=True)
class SubagentView:
    """One announced invocation inside a run."""

    id: str
    name: str = ""
    parent_id: str | None = None
    tool_call_id: str | None = None
    status: Literal["running", "succeeded", "suspended", "failed", "unknown"] = "running"
    interrupt_ids: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """A RunAgentInput, each member as its exact JSON text; ids decoded."""

    thread_id: str
    run_id: str
    messages: tuple[str, ...] = ()
    state: str | None = None
    tools: str = "[]"
    context: str = "[]"
    forwarded_props: str = "{}"
    resume: str | None = None
    protocol_version: str | None = None
    parent_run_id: str | None = None


@dataclass(slots=True, kw_only=True)
class RunView:
    """One RUN_STARTED … RUN_FINISHED or RUN_ERROR. `ours`: the one asked for (identity is our request, C-15)."""

    run_id: str
    thread_id: str
    ours: bool = False
    known: bool = False  # a replayed run that we already hold (H-3)
    started: bool = True  # False: the answer opened with RUN_ERROR, or never opened
    status: RunStatus = "running"
    outcome: str = ""  # "success", "interrupt", "cancelled", "unknown"; "" = none was stated
    parent_run_id: str | None = None
    protocol_version: str | None = None
    input: RunInput | None = None  # what asked for it: ours, or the echo in RUN_STARTED
    result: str | None = None  # text of JSON
    usage: str | None = None  # text of JSON
    error: str | None = None
    error_code: str | None = None
    late_error: str | None = None  # RUN_ERROR after RUN_FINISHED: the status stays
    rejected: str | None = None  # why we refused the stream from here on
    cut: str | None = None  # why we stopped reading, when it was us
    acted: bool = False  # anything beside start, end, snapshots and passthrough came (class C or D)
    snapshot_seen: bool = False  # a MESSAGES_SNAPSHOT came
    interrupts: list[InterruptView] = field(default_factory=list)
    pending_tool_call_ids: tuple[str, ...] = ()
    calls: dict[str, CallView] = field(default_factory=dict)
    remembered: dict[str, CallView] = field(default_factory=dict)  # named by an interrupt, streamed elsewhere (G-6)
    results: list[ResultView] = field(default_factory=list)
    subagents: dict[str, SubagentView] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    customs: list[CustomView] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)  # the thread's messages when the run ended, texts of JSON
    state: str | None = None  # the last agreed state, text of JSON; None: none was ever given
    warnings: list[Warning] = field(default_factory=list)
    events: int = 0

    @property
    def ended(self) -> bool:
        """Its terminal event was seen, or there will be none."""
        return self.status != "running"


@dataclass(frozen=True, slots=True)
class Started:
    run: RunView


@dataclass(frozen=True, slots=True)
class CallChanged:
    """A call appeared, ended, or turned up again with other arguments."""

    run: RunView
    call: CallView


@dataclass(frozen=True, slots=True)
class Result:
    run: RunView
    result: ResultView


@dataclass(frozen=True, slots=True)
class Paused:
    """The run finished with an interrupt outcome; `run.interrupts` is complete."""

    run: RunView


@dataclass(frozen=True, slots=True)
class Finished:
    """Any other RUN_FINISHED: succeeded, cancelled or unknown."""

    run: RunView


@dataclass(frozen=True, slots=True)
class Failed:
    """RUN_ERROR: the agent says so itself."""

    run: RunView
    message: str
    code: str | None


@dataclass(frozen=True, slots=True)
class LateError:
    """RUN_ERROR after the run's end: the status and its interrupts stand."""

    run: RunView
    message: str
    code: str | None


@dataclass(frozen=True, slots=True)
class Rejected:
    """We refuse the stream from here on; later interrupts are quarantined."""

    run: RunView
    rule: str
    text: str


@dataclass(frozen=True, slots=True)
class Truncated:
    """The body ended without the run's terminal event: it has no outcome."""

    run: RunView


@dataclass(frozen=True, slots=True)
class Cut:
    """We stopped reading; the run is truncated by us."""

    run: RunView
    text: str


@dataclass(frozen=True, slots=True)
class Echo:
    """RUN_STARTED.input shows a resume: the text of its `resume` member (H-5)."""

    run: RunView
    resume: str


Fact = Started | CallChanged | Result | Paused | Finished | Failed | LateError | Rejected | Truncated | Cut | Echo
ENDS = (Paused, Finished, Failed, Rejected, Truncated, Cut)  # after one of these a run is over

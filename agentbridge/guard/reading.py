"""What the agent's answer means for the thread: the desk's own reader reads it, the desk's own classes conclude."""

from __future__ import annotations

from agentbridge.guard import rules
from agentbridge.guard.journal import Conclusion
from agentbridge.guard.rules import Question
from agentbridge.wire import sse
from agentbridge.wire.classify import classify
from agentbridge.wire.openrun import QUIET
from agentbridge.wire.reading import TOLERANCES, Reader
from agentbridge.wire.record import InterruptView, Limits, RunView
from approvals import jsontext

STATES = {"A": "", "B": rules.REFUSED, "C": rules.REFUSED, "D": rules.FAILED}
DECISIVE = ("RUN_", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK")
FRAME = Limits().frame
FINISHED = ("succeeded", "interrupted", "cancelled", "unknown")  # the agent said that its run is over


class Listener:
    """The desk's reader, fed with what decides only: a stream of any length takes no more memory than its questions.

    A guard has no opinion on style: whatever asks a question opens it, in whatever broken stream.
    """

    def __init__(self, *, thread_id: str, run_id: str, limit: int) -> None:
        self._reader = Reader(thread_id=thread_id, run_id=run_id, run_input=None, tolerances=TOLERANCES)
        self._frames = sse.Parser(limit=FRAME)
        self._room = limit
        self.full = False  # nothing more is read: a limit was met

    @property
    def runs(self) -> list[RunView]:
        return self._reader.runs

    @property
    def ended(self) -> bool:
        return self._reader.ended

    def feed(self, data: bytes) -> None:
        self._room -= len(data)
        try:
            frames = self._frames.feed(data)
        except sse.FrameTooLarge as met:
            frames, self.full = met.frames, True
        self.full = self.full or self._room < 0
        for frame in frames:
            self._take(frame)

    def close(self, *, cut: str | None = None) -> None:
        for frame in self._frames.close() if cut is None and not self.full else ():
            self._take(frame)
        self._reader.close(cut=cut)

    def _take(self, frame: sse.Frame) -> None:
        kind = _kind(frame.data)
        if not self.runs or kind.startswith(DECISIVE):
            lines = frame.data.encode("utf-8", "surrogatepass").replace(b"\n", b"\ndata: ")
            self._reader.feed(b"data: " + lines + b"\n\n")
        elif kind not in QUIET and not self.runs[-1].ended:
            self.runs[-1].acted = True


def _kind(text: str) -> str:
    """The event's type; "" where nobody can say."""
    try:
        event = jsontext.loads(text)
    except jsontext.JSONTextError:
        return ""
    kind = event.get("type") if isinstance(event, dict) else None
    return kind if isinstance(kind, str) else ""


def conclude(read: Listener, *, status: int | None, retry_after: bool = False) -> Conclusion:
    """After the last byte, and after `read.close()`. `status`: of the HTTP answer, None without one."""
    run = next((view for view in read.runs if view.ours), None) if status == 200 else None
    asked = questions(run) if run is not None else []
    ended = run is not None and run.ended and run.status != "truncated"
    state = _state(run, status=status, retry_after=retry_after)
    if asked:
        return Conclusion(state=state, ended=ended, open=asked)
    # Answers that were used up leave nothing open. After any other end nobody knows better than before (S-2).
    return Conclusion(state=state, ended=ended, open=[] if state in (rules.TAKEN, rules.FAILED) else None)


def _state(run: RunView | None, *, status: int | None, retry_after: bool) -> str:
    if run is not None and run.status in FINISHED:
        return rules.TAKEN
    if status == 503 and not retry_after:  # a gateway's word about an agent that may be at work
        return rules.DOUBT
    return STATES.get(classify(http_status=status, run=run), rules.DOUBT)


def questions(run: RunView) -> list[Question]:
    """What can be answered: an interrupt without an id cannot."""
    return [_question(run, view) for view in run.interrupts if view.id is not None]


def _question(run: RunView, view: InterruptView) -> Question:
    call = run.calls.get(view.tool_call_id) if view.tool_call_id is not None else None
    return Question(
        id=view.id or "", raw=view.raw, schema=view.response_schema, expires_at=view.expires_at,
        proposal=call.args if call is not None and call.state == "complete" else None,
    )  # fmt: skip

"""What the agent's answer means for the thread: the desk's own reader reads it, the desk's own classes conclude."""

from __future__ import annotations

from agentbridge.guard import rules
from agentbridge.guard.journal import Conclusion
from agentbridge.guard.rules import Question
from agentbridge.wire.classify import classify
from agentbridge.wire.reading import TOLERANCES, Reader
from agentbridge.wire.record import InterruptView, Limits, RunView

STATES = {"A": "", "B": rules.REFUSED, "C": rules.REFUSED, "D": rules.FAILED}
FINISHED = ("succeeded", "interrupted", "cancelled", "unknown")  # the agent said that its run is over


def reader(*, thread_id: str, run_id: str, limit: int) -> Reader:
    """A guard has no opinion on style: whatever asks a question opens it, in whatever broken stream."""
    return Reader(
        thread_id=thread_id, run_id=run_id, run_input=None, tolerances=TOLERANCES, limits=Limits(stream=limit)
    )


def conclude(read: Reader, *, status: int | None, retry_after: bool = False) -> Conclusion:
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

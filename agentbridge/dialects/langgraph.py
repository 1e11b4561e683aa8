"""LangGraph (`ag-ui-langgraph`, Python and TypeScript): with an outcome if it opted in, else a CUSTOM event.

Several open interrupts can only be answered by one value, a map by interrupt id (ag-ui issue 2178).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.utils.translation import gettext_noop as _

from agentbridge.dialects import evidence, hitl, kits, sending
from agentbridge.dialects.contract import Answered, Flag, Pause, Sending, flag
from agentbridge.dialects.plain import Plain
from agentbridge.wire.record import CustomView, InterruptView, RunView
from approvals import jsontext
from approvals.kit import VerdictKit

ON_INTERRUPT = "on_interrupt"
CANCEL = _("Nobody can say what a cancel does: the graph gets a marker object, which simple code takes for a yes.")
NO_CANCEL_IN_A_MAP = _("This agent takes several answers as one map of values: a cancel cannot be said in it.")
NO_CANCEL_LEGACY = _("This agent takes a bare value as its answer: a cancel cannot be said.")
SHARED = _(
    "Other calls of this run have no result either. Where one node runs them all, "
    "this framework has been seen to hand the answer to another one of them."
)


class LangGraph(Plain):
    """Answers go to whichever interrupt is open, so nothing is ever sent twice by itself."""

    name = "langgraph"
    mark = "langgraph"

    def __init__(self, name: str = "langgraph") -> None:
        self.name = name

    def evident(self, run: RunView) -> bool:
        return super().evident(run) or any(raw_id(custom) is not None for custom in announced(run))

    def pause(self, run: RunView, interrupt: InterruptView) -> Pause:
        return hitl.bound(super().pause(run, interrupt), run)

    def legacy(self, run: RunView) -> list[Pause]:
        """L-1: the value stands in the event, the id only in `rawEvent.id`."""
        found = [interrupt_of(custom, position) for position, custom in enumerate(announced(run))]
        return [replace(self.pause(run, interrupt), legacy=True) for interrupt in found]

    def flags(self, run: RunView, pauses: Sequence[Pause]) -> list[Flag]:
        alone = pauses[0] if len(pauses) == 1 and not hitl.batched(pauses[0]) else None
        shared = alone is not None and alone.call is not None and evidence.siblings(run, alone.call)
        return [flag("other-calls-wait", SHARED)] if shared else []

    def kit(self, pause: Pause) -> VerdictKit:
        kit = kits.cancel_is(hitl.kit(pause) or kits.standard(pause), "unclear", CANCEL)
        if pause.legacy:
            return kits.impossible(kit, "cancelled", NO_CANCEL_LEGACY)
        return kits.impossible(kit, "cancelled", NO_CANCEL_IN_A_MAP) if pause.among > 1 else kit

    def send(self, answers: Sequence[Answered], run_input_props: str) -> Sending:
        answers = sending.distinct(answers)
        if answers and all(answer.legacy for answer in answers):
            text = as_command(sending.value(answers[0])) if len(answers) == 1 else sending.by_id(answers)
            return Sending(forwarded_props=sending.with_command(run_input_props, {"resume": text}))
        if len(answers) < 2:
            return super().send(answers, run_input_props)
        one = sending.entry(answers[0].interrupt_id, sending.by_id(answers))
        return Sending(entries=f"[{one}]", forwarded_props=sending.without_one_shots(run_input_props))


def announced(run: RunView) -> list[CustomView]:
    """The events by which LangGraph and those that follow it announce a pause."""
    return [custom for custom in run.customs if custom.name == ON_INTERRUPT]


def raw_id(custom: CustomView) -> str | None:
    """The interrupt id of a legacy event: a string, or there is none (L-5)."""
    return evidence.string_at(custom.raw_event, "id") or None


def unwrapped(value: str) -> str:
    """The value of `on_interrupt`: JSON inside a string, or JSON, or a plain sentence (T-90)."""
    inner = jsontext.loads(value) if value.startswith('"') else value
    try:
        jsontext.parse(inner)
    except jsontext.JSONTextError:
        return value
    return str(inner)


def interrupt_of(custom: CustomView, position: int) -> InterruptView:
    """The interrupt that the adapter would have made of this event."""
    value, id_ = unwrapped(custom.value), raw_id(custom)
    reason = evidence.string_at(value, "reason")
    return InterruptView(
        position=position,
        id=id_,
        reason="langgraph:interrupt" if reason is None else reason,
        message=jsontext.loads(value) if value.startswith('"') else evidence.string_at(value, "message"),
        tool_call_id=evidence.string_at(value, "toolCallId") or evidence.string_at(value, "tool_call_id"),
        response_schema=evidence.object_at(value, "responseSchema") or evidence.object_at(value, "response_schema"),
        expires_at=evidence.string_at(value, "expiresAt") or evidence.string_at(value, "expires_at"),
        metadata=f'{{"langgraph":{{"raw":{value}}}}}',
        raw=custom.value,
        problems=[] if id_ is not None else ["The event carries no interrupt id."],
    )


def as_command(value: str) -> str:
    """A single legacy answer: the adapter reads a string as JSON if it can, so such a string goes out quoted twice."""
    if not value.startswith('"'):
        return value
    try:
        jsontext.parse(jsontext.loads(value))
    except jsontext.JSONTextError:
        return value
    return jsontext.dumps(value)

"""Agno: no interrupts at all. A call without a result is the question, a tool message behind the history the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.utils.translation import gettext_noop as _

from agentbridge.dialects import kits, sending
from agentbridge.dialects.contract import Answered, Pause, Sending
from agentbridge.dialects.plain import Plain
from agentbridge.dialects.unanswered import offered_tools, unanswered
from agentbridge.wire.record import CallView, InterruptView, RunView
from approvals import jsontext
from approvals.kit import VerdictKit

FORM = _('A question of several fields wants {"values": {…}}; which fields, this agent does not say.')
NO_EDITS = _("This agent runs the call as it is.")
NO_CANCEL = _("This agent takes the answer as a tool's result: a cancel cannot be said. Reject instead.")


class Agno(Plain):
    """Known by the agent's setting only: an unanswered call proves nothing by itself (L-3a)."""

    name = "agno"
    needs_history = True

    def legacy(self, run: RunView) -> list[Pause]:
        found = unanswered(run, offered_tools(run))
        return [Pause(interrupt=interrupt_of(call, place), call=call, legacy=True) for place, call in enumerate(found)]

    def kit(self, pause: Pause) -> VerdictKit:
        kit = kits.decided('{"accepted":true}', '{"accepted":false}', cancel="unclear", no_edits=NO_EDITS)
        kit = replace(kit, forms=kit.forms | {"answered": replace(kits.WHOLE, note=FORM)})
        return kits.impossible(kit, "cancelled", NO_CANCEL)

    def send(self, answers: Sequence[Answered], run_input_props: str) -> Sending:
        """`resume[]` is ignored here: it would start a new turn."""
        props = sending.without_one_shots(run_input_props)
        return Sending(messages=[sending.tool_message(a) for a in sending.distinct(answers)], forwarded_props=props)


def interrupt_of(call: CallView, position: int) -> InterruptView:
    """The question that an unanswered call is."""
    return InterruptView(
        position=position,
        id=call.id,
        reason="tool_call",
        tool_call_id=call.id,
        raw=jsontext.dumps({"toolCallId": call.id, "toolCallName": call.name, "arguments": call.args}),
    )

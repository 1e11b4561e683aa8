"""Mastra (`@ag-ui/mastra`): suspended tools. Its `requireApproval` tools never announce anything (L-3a)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.utils.translation import gettext_noop as _

from agentbridge.dialects import evidence, kits, sending
from agentbridge.dialects.contract import Answered, Pause, Sending
from agentbridge.dialects.langgraph import announced, unwrapped
from agentbridge.dialects.plain import Plain
from agentbridge.wire.record import InterruptView, RunView
from approvals import jsontext
from approvals.kit import VerdictKit

CANCEL = _("After a cancel the run ends, but the tool stays suspended and can still be approved later.")
FALSE_CANCELS = _(
    "This agent takes a bare false for a cancel: the tool stays suspended and can still be approved later."
)
NO_CANCEL_LEGACY = _("This agent takes a bare value as its answer: a cancel cannot be said.")


class Mastra(Plain):
    """One question at a time; a wrong answer uses it up, so answers are checked before they leave."""

    name = "mastra"
    mark = "mastra"

    def legacy(self, run: RunView) -> list[Pause]:
        values = [unwrapped(custom.value) for custom in announced(run)]
        suspended = [value for value in values if evidence.string_at(value, "type") == "mastra_suspend"]
        found = [interrupt_of(value, place) for place, value in enumerate(suspended)]
        return [replace(self.pause(run, interrupt), legacy=True) for interrupt in found]

    def kit(self, pause: Pause) -> VerdictKit:
        kit = kits.cancel_is(kits.standard(pause), "unclear", CANCEL)
        if any(form.answer == "false" for form in kit.forms.values()):
            kit = kits.impossible(kit, "rejected", FALSE_CANCELS)
        return kits.impossible(kit, "cancelled", NO_CANCEL_LEGACY) if pause.legacy else kit

    def send(self, answers: Sequence[Answered], run_input_props: str) -> Sending:
        if not answers or not all(answer.legacy for answer in answers):
            return super().send(answers, run_input_props)
        if len(answers) > 1:
            raise sending.Unsendable("This framework takes one legacy answer at a time.")
        call, run = (evidence.text_at(answers[0].raw, name) or "null" for name in ("toolCallId", "runId"))
        about = f'{{"toolCallId":{call},"runId":{run}}}'
        members = {"resume": sending.value(answers[0]), "interruptEvent": about}
        return Sending(forwarded_props=sending.with_command(run_input_props, members))


def interrupt_of(value: str, position: int) -> InterruptView:
    """The interrupt of a legacy event; its id is the suspended call's, which is what the answer names."""
    schema = evidence.string_at(value, "resumeSchema")
    return InterruptView(
        position=position,
        id=evidence.string_at(value, "toolCallId"),
        reason="mastra:tool_suspend",
        tool_call_id=evidence.string_at(value, "toolCallId"),
        response_schema=schema if schema is not None and is_json(schema) else evidence.text_at(value, "resumeSchema"),
        metadata=f'{{"mastra":{value}}}',
        raw=value,
    )


def is_json(text: str) -> bool:
    try:
        jsontext.parse(text)
    except jsontext.JSONTextError:
        return False
    return True

"""CrewAI flows (`ag-ui-crewai`): a person's words, mapped to a label by a model. A cancel can approve."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.utils.translation import gettext_noop as _

from agentbridge.dialects import evidence, kits
from agentbridge.dialects.contract import Pause
from agentbridge.dialects.langgraph import announced, unwrapped
from agentbridge.dialects.plain import Plain
from agentbridge.wire.record import InterruptView, RunView
from approvals import jsontext
from approvals.kit import AnswerForm, VerdictKit

CANCEL = _("A cancel takes the flow's default, and without one its first option: it can approve.")
READ_BY_A_MODEL = _("A model of the agent decides what these words mean.")
NO_EDITS = _("This agent takes words for an answer, no arguments.")
LABELS = {"approved": ("approved", "approve"), "rejected": ("rejected", "reject")}
TEXT = '{"type":"string"}'


class CrewAI(Plain):
    """One question at a time, and every question of a thread has the thread's id."""

    name = "crewai"
    mark = "crewai"

    def legacy(self, run: RunView) -> list[Pause]:
        """L-2: the event's value is the interrupt itself."""
        values = [unwrapped(custom.value) for custom in announced(run)]
        signed = [value for value in values if evidence.text_at(value, "metadata", "crewai") is not None]
        return [replace(self.pause(run, interrupt_of(value, place)), legacy=True) for place, value in enumerate(signed)]

    def kit(self, pause: Pause) -> VerdictKit:
        options = labels(pause.schema)
        forms = {
            verdict: AnswerForm(answer=jsontext.dumps(label))
            for verdict, words in LABELS.items()
            for label in options
            if label in words
        }
        if len(forms) < len(LABELS):
            forms = {}  # half a yes or no is no yes or no
        forms["answered"] = replace(kits.WHOLE, note="" if options else READ_BY_A_MODEL)
        forms["cancelled"] = AnswerForm(answer=None, note=CANCEL)
        return VerdictKit(forms=forms, cancel="runs", schema=pause.schema or TEXT, no_edits=NO_EDITS)


def labels(schema: str | None) -> list[str]:
    """The flow's emit labels: the schema's string enum."""
    value: Any = jsontext.loads(schema) if schema else None
    options = value.get("enum") if isinstance(value, dict) else None
    return [option for option in options if isinstance(option, str)] if isinstance(options, list) else []


def interrupt_of(value: str, position: int) -> InterruptView:
    """The interrupt that stands in a legacy event."""
    return InterruptView(
        position=position,
        id=evidence.string_at(value, "id"),
        reason=evidence.string_at(value, "reason") or "",
        message=evidence.string_at(value, "message"),
        response_schema=evidence.object_at(value, "responseSchema"),
        metadata=evidence.text_at(value, "metadata"),
        raw=value,
    )

"""What an agent's streams were warned of, added up: the protocol report of its page reads these few rows only."""

from __future__ import annotations

from django.db import models

from agentbridge.models.agents import Agent
from agentbridge.models.runs import Run
from approvals.fields import OpaqueTextField


class ProtocolNote(models.Model):
    """Every warning of one rule and severity at one agent; `where` and `text` are the last one's."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="protocol_notes")
    rule = models.CharField(max_length=40)
    severity = models.CharField(max_length=8)
    count = models.PositiveBigIntegerField(default=0)
    last_run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="+")
    where = OpaqueTextField(default="")
    text = OpaqueTextField(default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "rule", "severity"], name="one_note_per_rule")]

    def __str__(self) -> str:
        return f"{self.rule} ({self.severity})"

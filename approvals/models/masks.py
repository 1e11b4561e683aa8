"""What a queue or an agent hides beside the rules of the installation (`approvals.foreign.masking`)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from approvals.models.people import Queue


class MaskRule(models.Model):
    """One name or pattern, for a queue, an agent or both; for neither of them it holds everywhere."""

    queue = models.ForeignKey(Queue, null=True, blank=True, on_delete=models.CASCADE, related_name="mask_rules")
    agent = models.CharField(max_length=100, blank=True, default="")
    by_name = models.CharField(max_length=200, blank=True, default="")
    by_looks = models.CharField(max_length=500, blank=True, default="")  # a regular expression

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["queue", "agent", "by_name", "by_looks"], name="one_mask_rule"),
            models.CheckConstraint(condition=Q(by_name="") ^ Q(by_looks=""), name="mask_by_name_or_looks"),
        ]

    def __str__(self) -> str:
        return self.by_name or self.by_looks

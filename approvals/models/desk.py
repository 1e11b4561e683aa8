"""What people keep at their desk beside the record: half-made answers, notes to each other, who is reading.

Nothing here decides or is sent anywhere.
"""

from __future__ import annotations

from django.db import models

from approvals.fields import OpaqueTextField
from approvals.models.cases import Case, Task
from approvals.models.people import User


class Draft(models.Model):
    """What one person has typed on one task and not decided yet, as the form would post it."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="drafts")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="drafts")
    fields = OpaqueTextField()  # JSON object: name of a control → its text
    shown_digest = models.CharField(max_length=64)  # of the exhibit it was typed over
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "task"], name="one_draft")]

    def __str__(self) -> str:
        return f"draft on {self.task}"


class Note(models.Model):
    """A word between people about a task. Never part of an answer; the trail keeps that it was written."""

    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="notes")
    by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="notes")
    text = OpaqueTextField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"note on {self.task}"


class Mention(models.Model):
    """A person named in a note, until they have seen it."""

    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="mentions")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="mentions")
    seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["note", "user"], name="one_mention")]

    def __str__(self) -> str:
        return f"{self.user} in {self.note}"


class Reading(models.Model):
    """Who has the page of a case open; old rows mean nobody."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="readings")
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "case"], name="one_reading")]

    def __str__(self) -> str:
        return f"{self.user} at {self.case}"

"""What stands beside the trail: who saw what, auditors' questions, samples and findings, and what is erased or held."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from approvals.fields import OpaqueTextField, SentenceField
from approvals.models.cases import Case, Task
from approvals.models.people import Queue, User


class Sighting(models.Model):
    """A person had this version of a task's exhibit on screen for the first time. The trail tells of it as well."""

    person = models.ForeignKey(User, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="sightings")
    digest = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["task", "person", "digest"], name="one_sighting")]

    def __str__(self) -> str:
        return f"{self.person} saw {self.task}"


class SavedQuestion(models.Model):
    """A question to the record that its owner asks again; shared ones are offered to everybody."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="questions")
    name = models.CharField(max_length=80)
    words = models.TextField(blank=True, default="")  # `workbench.question.Question.words`
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="one_question_name")]

    def __str__(self) -> str:
        return self.name


class Sample(models.Model):
    """Decisions drawn by a seed: the same seed and question draw the same ones again."""

    class Each(models.TextChoices):
        """From what the number is drawn: all together, or each of these."""

        ALL = "", _("all together")
        PERSON = "person", _("each reviewer")
        QUEUE = "queue", _("each queue")
        TOOL = "tool", _("each tool")

    seed = models.CharField(max_length=100)
    words = models.TextField(blank=True, default="")  # the question drawn from
    size = models.PositiveIntegerField()
    each = models.CharField(max_length=8, choices=Each.choices, blank=True, default="")
    population = models.PositiveIntegerField()
    drawn = models.JSONField()  # [[case, task, moment of the decision], …] in the order drawn
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="samples")
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.seed


class Finding(models.Model):
    """What an auditor noted about a case, or about one entry of its trail."""

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="findings")
    seq = models.BigIntegerField(null=True)  # the entry, if it is about one
    text = OpaqueTextField()
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="findings")
    at = models.DateTimeField()
    closed_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    closed_at = models.DateTimeField(null=True)
    reason = OpaqueTextField(null=True)  # why it was closed

    class Meta:
        indexes = [models.Index(fields=["closed_at", "id"], name="finding_open")]

    def __str__(self) -> str:
        return f"finding {self.pk}"


class RetentionRule(models.Model):
    """How long content is kept after a case ended, of a queue, an agent, both or all. The narrowest one counts.

    Set by one person and agreed to by another; only then it counts. A new rule for the same takes its place.
    """

    queue = models.ForeignKey(Queue, null=True, on_delete=models.PROTECT, related_name="+")
    agent = models.CharField(max_length=100, blank=True, default="")
    days = models.PositiveIntegerField()
    basis = SentenceField()  # the law or policy that says so
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    agreed_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    agreed_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.days} days"


class Hold(models.Model):
    """A legal hold: nothing of this case, agent or queue is erased until it is lifted."""

    case = models.ForeignKey(Case, null=True, on_delete=models.PROTECT, related_name="holds")
    queue = models.ForeignKey(Queue, null=True, on_delete=models.PROTECT, related_name="+")
    agent = models.CharField(max_length=100, blank=True, default="")
    reason = SentenceField()
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    lifted_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    lifted_at = models.DateTimeField(null=True)
    lifted_because = SentenceField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="hold_one_thing",
                condition=Q(case__isnull=False, queue__isnull=True, agent="")
                | Q(case__isnull=True, queue__isnull=False, agent="")
                | (Q(case__isnull=True, queue__isnull=True) & ~Q(agent="")),
            )
        ]

    def __str__(self) -> str:
        return f"hold {self.pk}"


class Erasure(models.Model):
    """The content of one case is to be erased: asked for by one person, done by another. Done, it says that it was."""

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="erasures")
    rule = models.ForeignKey(RetentionRule, null=True, on_delete=models.PROTECT, related_name="erasures")
    reason = SentenceField()
    basis = SentenceField()
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    done_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    done_at = models.DateTimeField(null=True)
    refused_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    refused_at = models.DateTimeField(null=True)
    refused_because = SentenceField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["case"], condition=Q(done_at__isnull=True, refused_at__isnull=True), name="one_erasure_asked"
            ),
            models.UniqueConstraint(fields=["case"], condition=Q(done_at__isnull=False), name="one_erasure_done"),
            models.CheckConstraint(
                name="erasure_four_eyes",
                condition=Q(done_by__isnull=True) | ~Q(done_by=models.F("asked_by")),
            ),
        ]

    def __str__(self) -> str:
        return f"erasure of {self.case}"

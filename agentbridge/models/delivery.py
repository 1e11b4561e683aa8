"""What is owed to an agent, and where what happened is not what was decided."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from agentbridge.models.agents import Agent, Thread
from agentbridge.models.runs import Run
from approvals.fields import BytesField, OpaqueTextField, SentenceField
from approvals.models import Case, Task


class DeliveryState(models.TextChoices):
    """`held` and `ready` are computed from the case before it is taken; the table of moves is `moves.MOVES`."""

    READY = "ready", _("ready")
    LEASED = "leased", _("leased")
    ARMED = "armed", _("armed")  # bytes may have left us
    ACCEPTED = "accepted", _("accepted")  # our RUN_STARTED was seen
    FINISHED = "finished", _("finished")
    INTERRUPTED_AGAIN = "interrupted_again", _("interrupted again")
    AGENT_ERROR = "agent_error", _("agent error")  # waits for a person
    REJECTED = "rejected", _("rejected")  # waits for a person
    EXPIRED_UNSENT = "expired_unsent", _("expired, not sent")
    IN_DOUBT = "in_doubt", _("in doubt")  # waits for a person
    OUTCOME_UNKNOWN = "outcome_unknown", _("outcome unknown")  # waits for a person
    DEAD = "dead", _("given up")  # waits for a person
    MARKED_DONE = "marked_done", _("marked done")
    ABANDONED = "abandoned", _("abandoned")


WAITING = ("agent_error", "rejected", "in_doubt", "outcome_unknown", "dead")
FINAL = ("finished", "interrupted_again", "expired_unsent", "marked_done", "abandoned")


class Resume(models.Model):
    """The sealed `resume[]` of a case: one per case, bytes that never change, and its delivery."""

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="resumes")
    n = models.PositiveSmallIntegerField(default=1)  # 2: made by `send_cancelled`, in place of a set never armed
    interrupted_run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="+")
    thread = models.ForeignKey(Thread, on_delete=models.PROTECT, related_name="resumes")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="resumes")
    url_version = models.PositiveIntegerField()
    entries = BytesField()  # the `resume` member's value, exactly as every attempt sends it; b"[]" with props only
    forwarded_props = BytesField(default=b"")  # sealed replacement of `forwardedProps` where the dialect answers there
    messages = BytesField(default=b"")  # sealed list of the messages that are the answers where the dialect has it so
    sha256 = models.CharField(max_length=64)  # over entries || forwarded_props || messages
    signature = models.TextField(blank=True, default="")
    sealed_at = models.DateTimeField()
    state = models.CharField(max_length=18, choices=DeliveryState.choices, default=DeliveryState.READY)
    answer_class = models.CharField(max_length=1, blank=True, default="")
    attempts_made = models.PositiveIntegerField(default=0)
    armed_once = models.BooleanField(default=False)
    next_run_id = OpaqueTextField(default="")  # prepared once, used until armed; a caller's own may be any text
    next_try_at = models.DateTimeField(null=True, blank=True)
    lease_owner = models.CharField(max_length=64, blank=True, default="")
    lease_until = models.DateTimeField(null=True, blank=True)
    fence = models.PositiveBigIntegerField(default=0)
    lost_leases = models.PositiveIntegerField(default=0)
    replaced_at = models.DateTimeField(null=True, blank=True)
    resend_asked_by = models.ForeignKey(  # the first of two who want it sent again; the next step forgets it
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    note = SentenceField(blank=True, default="")  # the last thing worth telling a person
    changed_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["state", "next_try_at"], name="resume_next"),
            models.Index(
                fields=["lease_until"], condition=Q(state__in=["leased", "armed", "accepted"]), name="resume_lease"
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["case", "n"], name="one_resume_number"),
            models.UniqueConstraint(fields=["case"], condition=Q(replaced_at__isnull=True), name="one_sealed_set"),
            models.UniqueConstraint(
                fields=["thread"], condition=Q(state__in=["leased", "armed", "accepted"]), name="one_delivery_in_flight"
            ),
            models.CheckConstraint(name="delivery_state", condition=Q(state__in=DeliveryState.values)),
        ]

    def __str__(self) -> str:
        return f"resume of {self.case}"

    @property
    def sealed(self) -> bytes:
        """All that leaves as an answer, as it is on record; `sha256` is over this."""
        return bytes(self.entries) + bytes(self.forwarded_props) + bytes(self.messages)

    @property
    def closing_at(self) -> datetime | None:
        """When this set closed an expired case: what was not answered in time by then went out as cancelled."""
        return self.sealed_at if self.n > 1 else None


class Incident(models.Model):
    """What happened is not what was decided."""

    class Kind(models.TextChoices):
        APPROVED_NOT_RUN = "approved_not_run", _("approved, but nothing ran")
        DENIED_BUT_RAN = "denied_but_ran", _("rejected, but it ran")
        OTHER_ARGUMENTS = "other_arguments", _("other arguments ran")
        RAN_TWICE = "ran_twice", _("ran twice")
        OTHER_CALL_RAN = "other_call_ran", _("another call ran")
        ASKED_AGAIN = "asked_again", _("asked again")
        LATE_ERROR = "late_error", _("error after the end")
        FAILED_AFTER_RESULT = "failed_after_result", _("failed after a result")

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="incidents")
    task = models.ForeignKey(Task, null=True, blank=True, on_delete=models.PROTECT, related_name="incidents")
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.PROTECT, related_name="incidents")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    tool_call_id = OpaqueTextField(null=True)
    text = SentenceField()
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    reason = SentenceField(blank=True, default="")

    def __str__(self) -> str:
        return f"{self.kind} on {self.case}"

"""Runs and what was read from them. Raw chunks are the authority; everything else here is an index over them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from agentbridge.models.agents import Thread
from approvals.fields import BytesField, OpaqueTextField
from approvals.models import Task


class RunQuerySet(models.QuerySet["Run"]):
    def in_flight(self) -> RunQuerySet:
        """Occupying their thread: waiting to be sent, or not ended yet."""
        return self.filter(status__in=[Run.Status.QUEUED, Run.Status.RUNNING])


class Run(models.Model):
    """One requested run: RUN_STARTED … RUN_FINISHED or RUN_ERROR. A resumed run is one attempt of its resume."""

    class Kind(models.TextChoices):
        FIRST = "first", _("first")  # started here, relayed or pushed
        RESUMED = "resumed", _("resumed")  # one attempt of a resume
        OBSERVED = "observed", _("observed")  # seen in a stream, asked for by nobody here

    class Way(models.TextChoices):
        BRIDGE = "bridge", _("by the bridge")  # it connects: runs started here, and resumes
        RELAY = "relay", _("through the relay")  # a caller's request, passed on as it is
        PUSH = "push", _("by the host")  # handed in whole, and its answers fetched

    class Status(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        SUCCEEDED = "succeeded", _("succeeded")
        INTERRUPTED = "interrupted", _("interrupted")
        CANCELLED = "cancelled", _("cancelled")
        FAILED = "failed", _("failed")  # the agent said so
        REJECTED = "rejected", _("rejected")  # we refused the stream
        TRUNCATED = "truncated", _("truncated")  # no ending
        REFUSED = "refused", _("refused")  # HTTP error
        UNSENT = "unsent", _("unsent")  # given up before arming
        UNKNOWN = "unknown", _("unknown")

    thread = models.ForeignKey(Thread, on_delete=models.PROTECT, related_name="runs")
    key = models.CharField(max_length=64)  # SHA-256 hex of run_id
    run_id = OpaqueTextField()  # as requested; identity never comes from a closing event (C-15)
    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.FIRST)
    way = models.CharField(max_length=6, choices=Way.choices, default=Way.BRIDGE)  # who talks to the agent
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.QUEUED)
    outcome = models.CharField(max_length=40, blank=True, default="")  # success, interrupt, cancelled, unknown, ""
    input = BytesField(default=b"")  # the sealed RunAgentInput, exactly as sent
    input_digest = models.CharField(max_length=64, blank=True, default="")
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    resume = models.ForeignKey(
        "agentbridge.Resume", null=True, blank=True, on_delete=models.PROTECT, related_name="attempts"
    )
    attempt = models.PositiveIntegerField(default=0)  # 1… for resumed runs
    created_at = models.DateTimeField()
    armed_at = models.DateTimeField(null=True, blank=True)  # from here on bytes may have left us
    accepted_at = models.DateTimeField(null=True, blank=True)  # RUN_STARTED seen
    ended_at = models.DateTimeField(null=True, blank=True)
    lease_owner = models.CharField(max_length=64, blank=True, default="")
    lease_until = models.DateTimeField(null=True, blank=True)  # beyond its end, until its answer is read to its own
    lost_readers = models.PositiveSmallIntegerField(default=0)  # began to read its bytes again and never came back
    fence = models.PositiveBigIntegerField(default=0)  # on every write of a worker
    next_try_at = models.DateTimeField(null=True, blank=True)
    http_status = models.PositiveIntegerField(null=True, blank=True)
    http_version_note = models.CharField(max_length=200, blank=True, default="")  # Server header, for the class
    answer_class = models.CharField(max_length=1, blank=True, default="")  # A … J of `protocol.md` C.5
    error = OpaqueTextField(default="")  # what the agent said, or what went wrong on the way
    error_code = models.CharField(max_length=200, blank=True, default="")
    warnings = OpaqueTextField(default="[]")  # JSON list of {"rule","severity","where","text"}; it only grows
    warnings_counted = models.PositiveIntegerField(default=0)  # of these, so many stand in the protocol report
    snapshot = OpaqueTextField(default="")  # JSON: reading.Snapshot, what a resume is built from
    dialect = models.CharField(max_length=40, blank=True, default="")  # recognised; part of the audit (L-7)
    protocol_version = models.CharField(max_length=40, blank=True, default="")
    parent_run_id = OpaqueTextField(default="")  # a branch, never the link to the interrupted run
    events = models.PositiveBigIntegerField(default=0)
    bytes_received = models.PositiveBigIntegerField(default=0)
    bytes_sent = models.PositiveBigIntegerField(default=0)

    objects = RunQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["status", "next_try_at"], condition=Q(status="queued"), name="run_queue"),
            models.Index(fields=["thread", "id"], name="run_thread"),
            models.Index(fields=["lease_until"], condition=Q(lease_until__isnull=False), name="run_lease"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["thread", "key"], name="one_run_id_per_thread"),
            # One run in flight per thread; queued counts, so a second start is refused in the database too.
            models.UniqueConstraint(
                fields=["thread"],
                condition=Q(status__in=["queued", "running"]) & ~Q(kind="observed"),
                name="one_in_flight",
            ),
            models.UniqueConstraint(
                fields=["resume", "attempt"], condition=Q(resume__isnull=False), name="one_attempt_number"
            ),
        ]

    def __str__(self) -> str:
        return self.run_id


class StreamChunk(models.Model):
    """Bytes as they came off the wire, written before anything is interpreted."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="chunks")
    n = models.PositiveIntegerField()
    at = models.DateTimeField()
    data = BytesField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "n"], name="one_chunk")]

    def __str__(self) -> str:
        return f"{self.run}#{self.n}"


class ToolCall(models.Model):
    """A tool call of one run, assembled per id."""

    class State(models.TextChoices):
        COMPLETE = "complete", _("complete")
        MISSING = "missing", _("not in the stream")
        EMPTY = "empty", _("no arguments")
        INVALID = "invalid", _("not valid JSON")
        INCOMPLETE = "incomplete", _("not finished")

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="tool_calls")
    key = models.CharField(max_length=64)
    tool_call_id = OpaqueTextField()
    position = models.PositiveIntegerField()
    name = OpaqueTextField(default="")
    args = OpaqueTextField(default="")  # exactly the deltas, put together
    state = models.CharField(max_length=10, choices=State.choices)
    result = OpaqueTextField(null=True)  # JSON list of {"messageId","text"} in order of arrival; null: none seen

    class Meta:
        indexes = [models.Index(fields=["key"], name="call_key")]
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="one_call")]

    def __str__(self) -> str:
        return self.name


class Interrupt(models.Model):
    """One pause, keyed by the run we requested and its position in the outcome; ids repeat, so the id is an index."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="interrupts")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=64)  # SHA-256 hex of interrupt_id
    interrupt_id = OpaqueTextField(null=True)  # null: none that can be used
    raw = OpaqueTextField()  # the member exactly as received
    legacy = models.BooleanField(default=False)  # announced otherwise than by an outcome
    quarantined = models.BooleanField(default=False)
    task = models.ForeignKey(Task, null=True, blank=True, on_delete=models.PROTECT, related_name="+")  # newest asking

    class Meta:
        indexes = [models.Index(fields=["key"], name="interrupt_key")]
        constraints = [models.UniqueConstraint(fields=["run", "position"], name="one_interrupt")]

    def __str__(self) -> str:
        return self.interrupt_id or "(no id)"

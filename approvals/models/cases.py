"""Cases, their tasks, what was shown and what was decided."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Length
from django.utils.translation import gettext_lazy as _

from approvals.fields import OpaqueTextField, SentenceField, SentencesField, Start
from approvals.models.people import Queue, User
from approvals.prepared import Prepared, slot

ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # no 0/O, 1/I/L, U: people read codes aloud


def new_code(prefix: str) -> str:
    return f"{prefix}-" + "".join(secrets.choice(ALPHABET) for _ in range(8))


def new_case_code() -> str:
    return new_code("C")


def new_task_code() -> str:
    return new_code("T")


class State(models.TextChoices):
    """The stored states; `expired` is computed from the deadline and never stored (`Case.state_at`)."""

    OPEN = "open", _("open")  # waits for people
    SETTLED = "settled", _("settled")  # has its final answer
    DELIVERED = "delivered", _("delivered")  # cases only: the other side has the answers
    WITHDRAWN = "withdrawn", _("withdrawn")  # nobody asks any more; `ended_because` says why
    QUARANTINED = "quarantined", _("quarantined")  # visible, not answerable until an operator accepts it


EXPIRED = "expired"


class EndedBecause(models.TextChoices):
    SUPERSEDED = "superseded", _("a later run asked again")
    ANSWERED_ELSEWHERE = "answered_elsewhere", _("answered elsewhere")
    ANSWERED_AGAIN = "answered_again", _("answered again in another case")
    ABANDONED = "abandoned", _("abandoned by an operator")


class Verdict(models.TextChoices):
    APPROVED = "approved", _("approved")
    REJECTED = "rejected", _("rejected")
    ANSWERED = "answered", _("answered")
    CANCELLED = "cancelled", _("cancelled")


def last_moment(deadline: datetime) -> datetime:
    """The moment from which a deadline counts as passed (`EXPIRY_MARGIN_SECONDS` before it)."""
    return deadline - timedelta(seconds=settings.EXPIRY_MARGIN_SECONDS)


class CaseQuerySet(models.QuerySet["Case"]):
    def unexpired(self, now: datetime) -> CaseQuerySet:
        edge = now + timedelta(seconds=settings.EXPIRY_MARGIN_SECONDS)
        return self.filter(Q(deadline__isnull=True) | Q(deadline__gt=edge))

    def expired(self, now: datetime) -> CaseQuerySet:
        """Open or settled, nothing sent, and too late: nothing leaves by itself any more."""
        edge = now + timedelta(seconds=settings.EXPIRY_MARGIN_SECONDS)
        return self.filter(state__in=[State.OPEN, State.SETTLED], sent_at__isnull=True, deadline__lte=edge)

    def due(self, now: datetime) -> CaseQuerySet:
        """Settled cases that the bridge may take: the outbox."""
        return self.unexpired(now).filter(
            state=State.SETTLED, taken_at__isnull=True, blocked="", deliver_after__lte=now
        )


class Case(models.Model):
    """All that one interrupted run asks; settled and delivered as a whole. A settled case is the outbox row."""

    code = models.CharField(max_length=12, unique=True, default=new_case_code, editable=False)
    state = models.CharField(max_length=12, choices=State.choices, default=State.OPEN)
    ended_because = models.CharField(max_length=20, choices=EndedBecause.choices, blank=True, default="")
    blocked = SentenceField(blank=True, default="")  # a sentence: why nothing can be sent
    opened_at = models.DateTimeField()
    deadline = models.DateTimeField(null=True, blank=True)  # the earliest of its tasks
    settled_at = models.DateTimeField(null=True, blank=True)
    deliver_after = models.DateTimeField(null=True, blank=True)  # end of the undo window
    taken_at = models.DateTimeField(null=True, blank=True)  # sealed: recall ends here
    sent_at = models.DateTimeField(null=True, blank=True)  # from here on bytes may have left: expiry ends here
    ended_at = models.DateTimeField(null=True, blank=True)
    previous = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="nexts")
    refs = OpaqueTextField(default="{}")  # JSON object of names and texts that this app prints and does not understand
    agent = models.CharField(max_length=100)  # index over refs
    thread_key = models.CharField(max_length=64, blank=True, default="")  # index over refs: SHA-256 hex of the threadId
    flags = SentencesField(default=list)  # [{"slug","sentence","pointer"?}] said above the proposal

    objects = CaseQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["state", "deliver_after"], name="case_outbox"),
            models.Index(fields=["agent", "thread_key"], name="case_thread"),
            models.Index(fields=["deadline"], condition=Q(state__in=["open", "settled"]), name="case_deadline"),
            # What is counted on every page: SQLite takes no partial index for a value that comes with the query.
            models.Index(fields=["state", "deadline"], name="case_state_deadline"),
            models.Index("state", Length("blocked"), name="case_state_blocked"),
        ]
        constraints = [
            models.CheckConstraint(name="case_state", condition=Q(state__in=State.values)),
            models.CheckConstraint(
                name="case_settled_at",
                condition=~Q(state="settled") | Q(settled_at__isnull=False, deliver_after__isnull=False),
            ),
            models.CheckConstraint(name="case_ended_because", condition=Q(state="withdrawn") ^ Q(ended_because="")),
        ]

    def __str__(self) -> str:
        return self.code

    def is_expired(self, now: datetime) -> bool:
        if self.deadline is None or self.sent_at is not None or self.state not in (State.OPEN, State.SETTLED):
            return False
        return now >= last_moment(self.deadline)

    def state_at(self, now: datetime) -> str:
        return EXPIRED if self.is_expired(now) else self.state

    def has_open_tasks(self) -> bool:
        return bool(open_tasks_of.rows(case=self.pk))


class TaskQuerySet(models.QuerySet["Task"]):
    def open(self, now: datetime) -> TaskQuerySet:
        """Waiting for a person: open, and the whole case still in time."""
        edge = now + timedelta(seconds=settings.EXPIRY_MARGIN_SECONDS)
        return self.filter(
            Q(case__deadline__isnull=True) | Q(case__deadline__gt=edge), state=State.OPEN, case__state=State.OPEN
        )

    def soonest_first(self) -> TaskQuerySet:
        return self.order_by(models.F("due_at").asc(nulls_last=True), "pk")

    def in_queues_of(self, user: User) -> TaskQuerySet:
        return self.filter(queue__members=user)


class Task(models.Model):
    """One question for one human answer. Its exhibit and kit are frozen at the pause."""

    code = models.CharField(max_length=12, unique=True, default=new_task_code, editable=False)
    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="tasks")
    position = models.PositiveIntegerField()  # order in which the case asks
    asking = models.PositiveSmallIntegerField(default=1)  # 2: answered again
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="tasks")
    state = models.CharField(max_length=12, choices=State.choices, default=State.OPEN)
    refs = OpaqueTextField(default="{}")
    agent = models.CharField(max_length=100)
    agent_name = OpaqueTextField(default="")  # as shown when it asked: an index over the exhibit
    thread_key = models.CharField(max_length=64, blank=True, default="")
    reason = OpaqueTextField(default="")  # why it asks, in the asker's own word: an index over the exhibit
    tool = OpaqueTextField(default="")  # what would run, as named by the agent; "" for a question
    headline = OpaqueTextField(default="")  # a few arguments for the queue row, as `headlines.parts` reads them
    search_text = models.TextField(blank=True, default="")  # lower-case, cleaned copy for `?q=`: an index, no evidence
    deadline = models.DateTimeField(null=True, blank=True)
    deadline_text = OpaqueTextField(default="")  # as received
    due_at = models.DateTimeField(null=True, blank=True)  # the case's deadline: what the queue sorts by
    shown_digest = models.CharField(max_length=64)  # SHA-256 hex of the newest exhibit
    kit = models.TextField()  # approvals.kit.VerdictKit as JSON
    flags = SentencesField(default=list)  # [{"slug","sentence","pointer"?}]
    claimed_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="claims")
    claimed_at = models.DateTimeField(null=True, blank=True)
    results = OpaqueTextField(null=True)  # JSON list of {"runId","toolCallId","text","at"}; null until one was seen
    conclusion = SentenceField(blank=True, default="")

    objects = TaskQuerySet.as_manager()

    class Meta:
        indexes = [
            # With the agent, so that a flood of one agent is passed over without reading its rows.
            models.Index(fields=["queue", "due_at", "id", "agent"], condition=Q(state="open"), name="task_waiting"),
            models.Index(fields=["due_at", "id"], name="task_due"),
            # What the trail is asked for: decisions by agent, by thread, by tool.
            models.Index(fields=["agent"], name="task_agent"),
            models.Index(fields=["thread_key", "agent"], name="task_thread"),
            models.Index(Start("tool"), name="task_tool"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["case", "position"], name="task_position"),
            models.CheckConstraint(
                name="task_state", condition=Q(state__in=["open", "settled", "withdrawn", "quarantined"])
            ),
        ]

    def __str__(self) -> str:
        return self.code

    def state_at(self, now: datetime) -> str:
        """`expired` when the case is: one expired task expires its whole case."""
        return EXPIRED if self.case.is_expired(now) else self.state

    def body_of(self, digest: str) -> str:
        """What was shown under this digest. Asked so, otherwise, and so again: two versions, and one body."""
        (body,) = newest_body.one(task=self.pk, digest=digest)
        return body

    def decided_under(self, key: str, by: User) -> Decision | None:
        """Their newest decision under this key, counting or not; its task is this very object."""
        found = decisions_under.first(task=self.pk, by=by.pk, key=key)
        if found:
            found.task = self
        return found


class Exhibit(models.Model):
    """Everything frozen for the reviewer. A new version never replaces an old one."""

    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="exhibits")
    version = models.PositiveIntegerField()
    body = OpaqueTextField()  # JSON text, written once; see `approvals.exhibits`
    digest = models.CharField(max_length=64)  # SHA-256 hex of the body's UTF-8 bytes
    frozen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["task", "version"], name="exhibit_version")]

    def __str__(self) -> str:
        return f"{self.task} v{self.version}"


open_tasks_of = Prepared(lambda: Task.objects.filter(case=slot("case"), state=State.OPEN).values_list("pk")[:1])
decisions_under = Prepared(
    lambda: Decision.objects.filter(task=slot("task"), by=slot("by"), idempotency_key=slot("key")).order_by("-pk")[:1]
)
newest_body = Prepared(
    lambda: (
        Exhibit.objects.filter(task=slot("task"), digest=slot("digest")).order_by("-version").values_list("body")[:1]
    )
)


class DecisionQuerySet(models.QuerySet["Decision"]):
    def live(self) -> DecisionQuerySet:
        """Those that count: neither recalled nor voided."""
        return self.filter(recalled_at__isnull=True, voided_at__isnull=True)


class Decision(models.Model):
    """The recorded answer to a task. One live per task; recalled and voided ones stay."""

    class ByKind(models.TextChoices):
        PERSON = "person", _("person")
        CALLER = "caller", _("caller")
        POLICY = "policy", _("policy")

    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="decisions")
    by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="decisions")
    by_kind = models.CharField(max_length=6, choices=ByKind.choices, default=ByKind.PERSON)
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    answer = OpaqueTextField(null=True)  # exact JSON text of the answer; null: none is sent (cancelled)
    edits = OpaqueTextField(null=True)  # exact JSON text of the full replacement; null: not edited
    input = OpaqueTextField(null=True)  # exact JSON text of what a person filled in
    comment = OpaqueTextField(default="")
    reason_code = models.CharField(max_length=40, blank=True, default="")  # one of its queue's (`verbs.reasons`)
    shown_digest = models.CharField(max_length=64)  # of the exhibit it was made on
    idempotency_key = models.CharField(max_length=200, blank=True, default="")
    at = models.DateTimeField()
    recalled_at = models.DateTimeField(null=True, blank=True)
    voided_at = models.DateTimeField(null=True, blank=True)

    objects = DecisionQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["at"], name="decision_at")]
        constraints = [
            models.UniqueConstraint(
                fields=["task"], condition=Q(recalled_at__isnull=True, voided_at__isnull=True), name="one_live_decision"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} on {self.task}"

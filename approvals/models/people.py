"""People, their queues and their tokens."""

from __future__ import annotations

import secrets

from django.contrib.auth.models import AbstractUser, Group
from django.db import models
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from approvals.prepared import Prepared, slot


def new_pseudonym() -> str:
    """A random name for the trail: the body of an entry names nobody (`audit.md` D.7)."""
    return "u_" + secrets.token_hex(12)


class Role(models.TextChoices):
    """The groups of Django that a person can be in; rights hang on these alone."""

    REVIEWER = "reviewer", _("reviewer")  # sees, claims and decides in own queues
    OPERATOR = "operator", _("operator")  # sees all, settles doubts, cancels; never approves
    AUDITOR = "auditor", _("auditor")  # reads all, changes nothing
    ADMIN = "admin", _("admin")  # people, queues, agents; no decisions


class User(AbstractUser):
    """A person, or a program that decides by token only (a *service person*)."""

    pseudonym = models.CharField(max_length=32, unique=True, default=new_pseudonym, editable=False)
    is_service = models.BooleanField(default=False)
    # How the desk is set up for this person, on whatever device they sign in.
    language = models.CharField(max_length=8, blank=True, default="")  # "": as the browser asks
    time_zone = models.CharField(max_length=64, default="UTC")
    keys_on = models.BooleanField(default=True)
    keys = models.JSONField(default=dict, blank=True)  # action → key, where it is not ours
    wants_notices = models.BooleanField(default=False)  # of the browser, for what is urgent
    unread_mentions = models.PositiveIntegerField(default=0)  # a count beside `Mention`, so that no page has to count
    sessions_ended = models.PositiveIntegerField(default=0)  # how often somebody signed them out everywhere

    @property
    def display_name(self) -> str:
        return self.get_full_name() or self.username

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """What a session must know: a new password ends all of a person's sessions, and so does `sessions_ended`."""
        own: str = super()._get_session_auth_hash(secret=secret)  # type: ignore[misc]
        return f"{own}-{self.sessions_ended}" if self.sessions_ended else own

    @cached_property
    def role(self) -> Role | None:
        """The one role; of several groups the first in the order of `Role`. Read once: verbs ask a fresh object."""
        groups = {name for (name,) in groups_of.rows(user=self.pk)}
        return next((role for role in Role if role in groups), None)

    @cached_property
    def own_queues(self) -> list[Queue]:
        """By name. Read once per object."""
        return queues_of.rows(user=self.pk)

    @property
    def queue_ids(self) -> list[int]:
        """A list of numbers keeps the plan of the queue page on its index."""
        return [queue.pk for queue in self.own_queues]


class Queue(models.Model):
    """Where a group of reviewers finds tasks."""

    class Risk(models.TextChoices):
        LOW = "low", _("low risk")
        MEDIUM = "medium", _("medium risk")
        HIGH = "high", _("high risk")

    name = models.CharField(max_length=100, unique=True)
    risk = models.CharField(max_length=6, choices=Risk.choices, default=Risk.MEDIUM)
    reason_required = models.BooleanField(default=False, help_text=_("Every decision here needs a comment."))
    reason_length = models.PositiveSmallIntegerField(default=1)  # characters that a required comment has at least
    whole_text_first = models.BooleanField(
        default=False, help_text=_("A yes counts only after every long text was opened whole.")
    )
    reason_codes = models.JSONField(default=list, blank=True)  # [[code, words], …]; none: those of `verbs.reasons`
    members = models.ManyToManyField(User, related_name="queues", blank=True)

    def __str__(self) -> str:
        return self.name


groups_of = Prepared(lambda: Group.objects.filter(user=slot("user")).values_list("name"))
queues_of = Prepared(lambda: Queue.objects.filter(members=slot("user")).order_by("name"))


class ApiToken(models.Model):
    """A personal Bearer token: shown once, stored as its SHA-256."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"token of {self.user}"

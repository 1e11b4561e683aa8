"""Agents and their threads."""

from __future__ import annotations

import hashlib
import json

from django.db import models
from django.utils.translation import gettext_lazy as _

from agentbridge.vault import EncryptedTextField
from approvals.fields import OpaqueTextField
from approvals.models import Queue


def key_of(text: str) -> str:
    """SHA-256 hex of an opaque id: ids may be 10 kB long or hold NUL, so keys are digests."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class ReplayClass(models.TextChoices):
    """May the same resume be sent again after bytes may have left? (`delivery.md` C.3)"""

    UNKNOWN = "unknown", _("unknown")  # at most once by itself
    VERIFIED = "verified", _("verified")  # proven safe by a probe or by an operator
    GUARDED = "guarded", _("guarded")  # behind our resume guard


class Receipts(models.TextChoices):
    """Does the signed statement go along in `resume[].metadata`, and under which name of the one algorithm?"""

    OFF = "", _("off")  # older servers refuse members that they do not know
    ED25519 = "Ed25519", "Ed25519"  # RFC 9864
    EDDSA = "EdDSA", "EdDSA"  # for libraries that know only the older name


class Agent(models.Model):
    """An AG-UI endpoint with its credentials and what we know of its ways."""

    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    url = models.URLField(max_length=2000)
    url_version = models.PositiveIntegerField(default=1)  # a delivery is pinned to the version it was sealed for
    capabilities_url = models.URLField(max_length=2000, blank=True, default="")  # read by the connection test only
    trace_url = models.CharField(max_length=2000, blank=True, default="")  # with placeholders (`owntrace`); never read
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="agents")
    routes = models.JSONField(default=dict, blank=True)  # {tool name: queue name}
    headers = EncryptedTextField(default="", blank=True)  # JSON list of [name, value]; never shown again
    dialect = models.CharField(max_length=40, default="auto")
    tolerances = models.JSONField(default=list, blank=True)  # named deviations that do not quarantine (C-29a)
    replay_class = models.CharField(max_length=8, choices=ReplayClass.choices, default=ReplayClass.UNKNOWN)
    replay_set_at = models.DateTimeField(null=True, blank=True)
    replay_server = models.CharField(max_length=200, null=True, blank=True)  # `Server` of the proof; null: unheard
    replay_lapsed_at = models.DateTimeField(null=True, blank=True)  # another server answered since (`standing`)
    probe = models.JSONField(null=True, blank=True)  # what `probe_agent` found: its class and eight checks, as printed
    probed_at = models.DateTimeField(null=True, blank=True)
    probed_url_version = models.PositiveIntegerField(null=True, blank=True)  # another address since: proves nothing
    pre_1_0 = models.BooleanField(default=False)  # an older server: `protocolVersion` is not sent
    receipts = models.CharField(max_length=8, choices=Receipts.choices, blank=True, default="")
    busy_is_not_taken = models.BooleanField(default=False)  # 503 with Retry-After means nothing was taken
    caller_decides = models.BooleanField(default=False)  # answers that come through the relay count as decisions
    enabled = models.BooleanField(default=True)
    host_token = models.CharField(max_length=64, blank=True, default="")  # SHA-256 hex; push and pull
    caller_token = models.CharField(max_length=64, blank=True, default="")  # SHA-256 hex; relay
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name

    @property
    def header_count(self) -> int:
        """All that anybody is told about them."""
        return len(json.loads(self.headers or "[]"))


class Thread(models.Model):
    """A conversation; a resume stays on its thread."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="threads")
    key = models.CharField(max_length=64)
    thread_id = OpaqueTextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "key"], name="one_thread")]

    def __str__(self) -> str:
        return self.thread_id

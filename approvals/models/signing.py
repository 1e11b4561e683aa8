"""What outsiders check us by: the public halves of our keys, and the signed states of the trail."""

from __future__ import annotations

from django.db import models

from approvals.fields import BytesField


class PublicKey(models.Model):
    """The public half of a key that SIGNING_KEY held at some time. Kept for ever: old signatures are read with it."""

    class Purpose(models.TextChoices):
        DECISION = "decision"
        CHECKPOINT = "checkpoint"

    kid = models.CharField(max_length=40, unique=True)
    purpose = models.CharField(max_length=10, choices=Purpose.choices)
    raw = BytesField()  # 32 bytes, Ed25519
    published_at = models.DateTimeField()  # signs only KEY_LEAD_SECONDS later, when every cache has it
    retired_at = models.DateTimeField(null=True, blank=True)  # no longer in SIGNING_KEY
    revoked_at = models.DateTimeField(null=True, blank=True)  # stolen: what was signed since proves nothing

    def __str__(self) -> str:
        return self.kid


class Checkpoint(models.Model):
    """A signed state of the trail: so many entries, this root (`approvals.trail.checkpoints`)."""

    size = models.BigIntegerField(primary_key=True)
    root = models.CharField(max_length=64)  # hex
    frontier = models.TextField()  # JSON: digests of the whole subtrees, to go on from (`approvals.trail.merkle`)
    note = models.TextField()  # C2SP tlog-checkpoint, signed
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"checkpoint {self.size}"

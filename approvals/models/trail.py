"""The append-only trail."""

from __future__ import annotations

from django.db import models

from approvals.fields import BytesField, OpaqueTextField
from approvals.models.cases import Case, Task
from approvals.models.people import User


class AuditLog(models.Model):
    """The one log of this deployment; its random name is part of every entry."""

    origin = models.CharField(max_length=40, unique=True)

    def __str__(self) -> str:
        return self.origin


class AuditEntry(models.Model):
    """One line of the trail. `body` is hashed and never changes; what can be erased stands beside it with its salt.

    `body` = RFC 8785 bytes of {"v","log","seq","prev","at","type","actor","case","task","policy","commit"}.
    `leaf_hash` = SHA-256(0x00 || body) in hex. Only `approvals.audit` creates rows; triggers refuse every change but
    the erasing (setting to NULL) of a side column together with its salt.
    """

    seq = models.BigIntegerField(primary_key=True)
    body = BytesField()
    leaf_hash = models.CharField(max_length=64, unique=True)
    at = models.DateTimeField()
    verb = models.CharField(max_length=60)
    actor = models.ForeignKey(
        User, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )  # the name table is erasable, the entry is not
    actor_kind = models.CharField(max_length=12, blank=True, default="")  # person, service, system, agent, caller
    case = models.ForeignKey(
        Case, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="entries"
    )
    task = models.ForeignKey(
        Task, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="entries"
    )
    agent = models.CharField(max_length=100, blank=True, default="")
    thread_key = models.CharField(max_length=64, blank=True, default="")
    sentence = OpaqueTextField(null=True)
    sentence_salt = BytesField(null=True)
    refs = OpaqueTextField(null=True)  # JSON object, serialised once
    refs_salt = BytesField(null=True)
    data = OpaqueTextField(null=True)  # JSON object, serialised once
    data_salt = BytesField(null=True)
    search_text = models.TextField(null=True)

    class Meta:
        # Whatever is asked for, its newest entries stand together: a page of a long trail reads one index from its end.
        indexes = [
            models.Index(fields=["at", "seq"], name="entry_at"),
            models.Index(fields=["case", "seq"], name="entry_case"),
            models.Index(fields=["task", "seq"], name="entry_task"),
            models.Index(fields=["verb", "seq"], name="entry_verb"),
            models.Index(fields=["actor", "seq"], name="entry_actor"),
            models.Index(fields=["agent", "seq"], name="entry_agent"),
            models.Index(fields=["thread_key", "seq"], name="entry_thread"),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.verb}"

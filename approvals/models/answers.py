"""What a program was answered, for when it asks the same thing again."""

from __future__ import annotations

from django.db import models

from approvals.fields import BytesField
from approvals.models.people import User


class StoredAnswer(models.Model):
    """The answer to one `Idempotency-Key`, per person and path, written in the transaction of the deed itself."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    path_key = models.CharField(max_length=64)  # SHA-256 hex of the path
    key = models.CharField(max_length=200)
    request_digest = models.CharField(max_length=64)  # SHA-256 hex of the request's body
    status = models.PositiveSmallIntegerField(default=0)
    body = BytesField(default=b"")
    at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "path_key", "key"], name="one_stored_answer")]

    def __str__(self) -> str:
        return self.key

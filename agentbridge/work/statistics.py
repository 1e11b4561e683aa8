"""What SQLite chooses its plans by. PostgreSQL counts by itself; SQLite only when somebody asks it to."""

from __future__ import annotations

from time import monotonic

from django.db import connection, transaction

from approvals.models import AuditEntry

EVERY_SECONDS = 3600.0
ENOUGH = 10_000  # entries of the trail: what is counted in a small desk misleads when it has grown
ROWS = 1_000  # looked at in each index: writers wait for milliseconds, however long the trail is


class Statistics:
    """Kept by each worker; without them the queue's page reads all that was ever decided in a queue."""

    def __init__(self) -> None:
        self._next = 0.0

    def tend(self) -> bool:
        """Whether they were collected now."""
        if connection.vendor != "sqlite" or monotonic() < self._next:
            return False
        self._next = monotonic() + EVERY_SECONDS
        return collect()


def collect() -> bool:
    """Whether there is enough to be counted."""
    newest = AuditEntry.objects.order_by("-seq").values_list("seq", flat=True).first()
    if (newest or 0) < ENOUGH:
        return False
    with transaction.atomic(), connection.cursor() as cursor:  # in the writers' turn
        cursor.execute(f"PRAGMA analysis_limit = {ROWS}")
        cursor.execute("ANALYZE")
    return True

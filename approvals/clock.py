"""Whose clock decides: the database's, so that many processes agree on what is too late (`delivery.md` C.10)."""

from __future__ import annotations

from datetime import datetime

from django.db import connections
from django.utils import timezone


def now(using: str = "default") -> datetime:
    """PostgreSQL: its clock at this very moment, also inside a transaction. SQLite has none: the process's."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]


def at_least(given: datetime) -> datetime:
    """The later of a deed's `now` and the database's clock: waiting for a lock must not stop time."""
    return max(given, now())

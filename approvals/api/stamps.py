"""Times and digests as the API writes and reads them."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime


def stamp(at: datetime) -> str:
    """RFC 3339 in UTC with microseconds and `Z`, always the same width: texts sort like times."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def stamp_or_none(at: datetime | None) -> str | None:
    return None if at is None else stamp(at)


def read_time(text: str) -> datetime | None:
    """A time with a zone, or a day or a time without one read as UTC; None if it is neither."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def key_of(text: str) -> str:
    """SHA-256 hex of an opaque id: how index columns keep it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

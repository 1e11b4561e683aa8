"""When a question must be answered, read from a text whose format nobody promised (R-26, R-28, T-53).

ISO 8601 in its usual spellings; no zone means UTC, with a note; what cannot be read never expires by us and is flagged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

DATE = r"(?P<year>\d{4})-?(?P<month>\d{2})-?(?P<day>\d{2})"
TIME = r"(?P<hour>\d{2}):?(?P<minute>\d{2})(?::?(?P<second>\d{2})(?:[.,](?P<fraction>\d+))?)?"
ZONE = r"(?P<zone>[Zz]|(?P<sign>[+\-−])(?P<zone_hours>\d{2})(?::?(?P<zone_minutes>\d{2}))?)"
LONGEST = 200  # characters; white space may stand in several places, and trying them all takes the square of its length
SPELLING = re.compile(rf"\s*{DATE}(?:(?:[Tt]|\s+){TIME}\s*{ZONE}?)?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Deadline:
    """`at` is None when the text cannot be read; `note` says what was assumed or why it cannot, else ""."""

    at: datetime | None
    note: str = ""


def read_deadline(text: str) -> Deadline:
    """The instant a text means, in UTC."""
    found = SPELLING.fullmatch(text) if len(text) <= LONGEST else None
    # Eight digits are a basic date or a number of something; nobody can tell, so nobody guesses.
    if found is None or text.strip().isdigit():
        return _unreadable(text)
    try:
        at = _instant(found)
    except (ValueError, OverflowError):
        return _unreadable(text)
    return Deadline(at, _assumed(found))


def _unreadable(text: str) -> Deadline:
    shown = text if len(text) <= 80 else text[:80] + "…"
    return Deadline(None, f"This deadline cannot be read: “{shown}”. It is treated as an unknown deadline.")


def _instant(found: re.Match[str]) -> datetime:
    """Raises ValueError or OverflowError for days and offsets that do not exist."""
    part = {name: int(value) for name, value in found.groupdict(default="0").items() if value.isdigit()}
    second, leap = (59, 1) if part["second"] == 60 else (part["second"], 0)
    hour, midnight = (0, 1) if _ends_the_day(part) else (part["hour"], 0)
    local = datetime(part["year"], part["month"], part["day"], hour, part["minute"], second, tzinfo=_zone(found))
    micro = int((found["fraction"] or "0")[:6].ljust(6, "0"))
    # A leap second is the first moment of the next minute: one second is not worth a refused deadline.
    return (local + timedelta(days=midnight, seconds=leap, microseconds=0 if leap else micro)).astimezone(UTC)


def _ends_the_day(part: dict[str, int]) -> bool:
    return part["hour"] == 24 and not (part["minute"] or part["second"] or part["fraction"])


def _zone(found: re.Match[str]) -> timezone:
    if found["sign"] is None:
        return UTC
    hours, minutes = int(found["zone_hours"]), int(found["zone_minutes"] or 0)
    if minutes > 59:
        raise ValueError("an offset has at most 59 minutes")
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(offset if found["sign"] == "+" else -offset)


def _assumed(found: re.Match[str]) -> str:
    if found["hour"] is None:
        return "Only a date is given; read as the start of that day in UTC."
    if found["zone"] is None:
        return "No time zone is given; read as UTC."
    return ""

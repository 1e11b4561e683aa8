"""When to try again: full jitter, the agent's own `Retry-After`, and a breaker for agents that are down."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

from django.conf import settings

LONGEST = 600.0  # seconds between two tries
ATTEMPTS = 25
JITTER = random.SystemRandom()
PATIENCE = timedelta(hours=72)
LONGEST_ASKED = 3600.0  # a Retry-After beyond an hour is not waited for


def delay(misses: int, *, retry_after: float | None = None) -> timedelta:
    """How long to wait after the n-th miss; never earlier than the agent asked for."""
    top = min(LONGEST, settings.BACKOFF_SECONDS * 3.0 ** min(misses, 10))
    return timedelta(seconds=max(JITTER.uniform(0, top), min(retry_after or 0.0, LONGEST_ASKED)))


def used_up(*, misses: int, sealed_at: datetime, now: datetime) -> bool:
    """A person who lets it be sent again starts the count anew, and gets one try however old it is."""
    return misses >= ATTEMPTS or (misses > 0 and now - sealed_at >= PATIENCE)


def seconds_asked(header: str | None, *, now: datetime) -> float | None:
    """`Retry-After` as seconds: a number, or an HTTP date; None when absent or unreadable."""
    if not header:
        return None
    if header.strip().isdigit():
        return float(header.strip()[:9])
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (at - now).total_seconds()) if at.tzinfo else None


@dataclass(slots=True)
class Breaker:
    """Stops asking an agent that missed five times in a row; after a minute one probe goes through."""

    misses: int = 0
    open_until: datetime | None = None

    def admits(self, now: datetime) -> bool:
        if self.open_until is None:
            return True
        if now < self.open_until:
            return False
        # The probe: everybody else waits until it came back.
        self.open_until = now + timedelta(seconds=60)
        return True

    def missed(self, now: datetime) -> None:
        self.misses += 1
        if self.misses >= 5:
            self.open_until = now + timedelta(seconds=60)

    def answered(self) -> None:
        self.misses, self.open_until = 0, None


@dataclass(slots=True)
class Breakers:
    """One breaker per agent, in this worker."""

    by_agent: dict[int, Breaker] = field(default_factory=dict)

    def of(self, agent_pk: int) -> Breaker:
        return self.by_agent.setdefault(agent_pk, Breaker())

    def closed_to(self, now: datetime) -> set[int]:
        """Agents that must not be asked now; does not consume a probe."""
        waits = {pk: breaker.open_until for pk, breaker in self.by_agent.items()}
        return {pk for pk, until in waits.items() if until is not None and now < until}

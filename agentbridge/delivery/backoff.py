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
GENTLE = 0.25  # seconds between two requests to an agent that just came back
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
    text = header.strip()
    if text.isascii() and text.isdigit():  # "²" is a digit too, and no number
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (at - now).total_seconds()) if at.tzinfo else None


@dataclass(slots=True)
class Breaker:
    """Stops asking an agent that missed five times in a row; after a minute one probe goes through.

    An agent that came back gets what waited for it a few at a time, not all at once. All times are seconds of this
    process's steady clock: nobody sets it, and it asks no database.
    """

    misses: int = 0
    open_until: float | None = None
    gentle_until: float | None = None
    next_at: float | None = None  # while gentle: not before

    def admits(self, now: float) -> bool:
        if self.open_until is not None:
            if now < self.open_until:
                return False
            # The probe: everybody else waits until it came back.
            self.open_until = now + pause()
            return True
        return self.gentle_until is None or now >= self.gentle_until or self._in_turn(now)

    def _in_turn(self, now: float) -> bool:
        """At most five in any second."""
        if self.next_at is not None and now < self.next_at:
            return False
        self.next_at = max(self.next_at or now, now - GENTLE) + GENTLE
        return True

    def missed(self, now: float) -> None:
        self.misses += 1
        if self.misses >= 5:
            self.open_until = now + pause()

    def answered(self, now: float) -> None:
        if self.open_until is not None:
            self.gentle_until = now + 60
        self.misses, self.open_until = 0, None


def pause() -> float:
    """How long an agent that is down is left alone: a minute, with the usual backoff."""
    return 30.0 * settings.BACKOFF_SECONDS


@dataclass(slots=True)
class Breakers:
    """One breaker per agent, in this worker."""

    by_agent: dict[int, Breaker] = field(default_factory=dict)

    def of(self, agent_pk: int) -> Breaker:
        return self.by_agent.setdefault(agent_pk, Breaker())

    def closed_to(self, now: float) -> set[int]:
        """Agents that must not be asked now; does not consume a probe."""
        waits = {pk: breaker.open_until for pk, breaker in self.by_agent.items()}
        return {pk for pk, until in waits.items() if until is not None and now < until}

"""How often a person or an address may ask: a token bucket in the cache. Generous; it stops loops, not people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

from django.core.cache import cache

CLOCKS_DIFFER = 5.0  # seconds: so far the clocks of two machines may be apart


@dataclass(frozen=True)
class Bucket:
    """Holds `size` takes and refills `per_second`. Counts per process where the cache is local memory."""

    name: str
    size: int
    per_second: float

    def wait(self, who: str, *, now: datetime, take: bool = True) -> int:
        """0 if a take is free (and take it), else the whole seconds to wait."""
        key, seconds = f"rate:{self.name}:{who}", now.timestamp()
        left, at = cache.get(key, (float(self.size), seconds))
        if at - seconds > CLOCKS_DIFFER:  # it was set back: nobody waits until it is there again
            left = self.size
        left = min(float(self.size), left + max(0.0, seconds - at) * self.per_second)
        if left < 1:
            return max(1, math.ceil((1 - left) / self.per_second))
        if take:
            cache.set(key, (left - 1, seconds), timeout=math.ceil(self.size / self.per_second) + 1)
        return 0


WRONG_TOKENS = Bucket("token", size=60, per_second=1)  # bad tokens of one address
WRITES = Bucket("write", size=1200, per_second=20)  # POSTs of one person

"""Redis may be lost: what it counted is counted by each process for itself, and nobody is kept out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from redis.exceptions import ConnectionError as Lost

from approvals.rates import Bucket
from config import cache as ours
from config.cache import PatientCache

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ONE = Bucket("of-a-test", size=2, per_second=1)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[PatientCache]:
    """Nothing listens where it looks for Redis."""
    monkeypatch.setattr(PatientCache, "away_until", 0.0)
    found = PatientCache("redis://127.0.0.1:1/0", {})
    monkeypatch.setattr("approvals.rates.cache", found)
    yield found
    found._own.clear()


def test_limits_are_counted_here_while_redis_is_away(cache: PatientCache) -> None:
    assert [ONE.wait("alice", now=NOW) for _take in range(3)] == [0, 0, 1]
    assert ONE.wait("bob", now=NOW) == 0


def test_redis_is_asked_again_after_a_while_and_not_for_every_question(
    cache: PatientCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, clock = [], [100.0]

    def lost(*_args: object) -> None:
        asked.append(clock[0])
        raise Lost

    monkeypatch.setattr(ours.RedisCache, "get", lost)
    monkeypatch.setattr(ours, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    for now in (100.0, 101.0, 100.0 + ours.AWAY_SECONDS):
        clock[0] = now
        assert cache.get("key", "none") == "none"
    assert asked == [100.0, 100.0 + ours.AWAY_SECONDS]


def test_a_machine_whose_clock_is_behind_keeps_nobody_waiting(cache: PatientCache) -> None:
    assert [ONE.wait("carol", now=NOW + timedelta(days=1)) for _take in range(3)] == [0, 0, 1]
    assert [ONE.wait("carol", now=NOW) for _take in range(3)] == [0, 0, 1]

"""SQLite is told what its tables hold, once there is enough in them and not more often than it is worth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from agentbridge.work import statistics
from agentbridge.work.statistics import Statistics
from approvals import audit

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="about SQLite"),
]


@pytest.fixture(autouse=True)
def entries() -> Iterator[None]:
    """A trail of three; other tests get their plans without what is counted here."""
    for _ in range(3):
        audit.record("agent.tested", "It answers.", now=timezone.now())
    yield
    asked("DROP TABLE IF EXISTS sqlite_stat1")
    connection.close()


def asked(question: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(question)
        return list(cursor.fetchall())


def test_what_the_tables_hold_is_counted_once_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "ENOUGH", 3)
    kept = Statistics()
    assert kept.tend() and not kept.tend()
    assert asked("SELECT count(*) FROM sqlite_stat1 WHERE tbl = 'approvals_auditentry'")[0][0] > 0


def test_a_small_desk_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "ENOUGH", 4)
    assert not Statistics().tend()
    assert asked("SELECT name FROM sqlite_master WHERE name = 'sqlite_stat1'") == []

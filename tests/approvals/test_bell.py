"""The bell rings for what any process wrote; whoever waits is never left without it for long."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from django.db import connection, connections
from django.utils import timezone

from approvals import audit, bell
from approvals.bell import Bell
from tests.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


def write() -> None:
    audit.record("login.ok", "somebody came in", now=timezone.now())
    connection.close()


async def heard_after(deed: Any, *, seconds: float = PATIENCE) -> bool:
    async with Bell() as own:
        while await own.wait(0.3):
            continue  # what is left from before
        await asyncio.to_thread(deed)
        return await own.wait(seconds)


def test_it_rings_for_an_entry() -> None:
    assert asyncio.run(heard_after(write))


def test_it_rings_for_one_who_came_wrote_and_left_alone() -> None:
    """On SQLite the write-ahead log of the only connection comes and goes between two looks."""
    for _again in range(3):
        connections.close_all()
        assert asyncio.run(heard_after(write))


def test_it_is_silent_while_nothing_happens() -> None:
    assert not asyncio.run(heard_after(lambda: None, seconds=0.3))


def test_a_ring_from_before_is_heard_once() -> None:
    async def twice() -> tuple[bool, bool]:
        own = Bell()
        own.ring()
        return await own.wait(0.05), await own.wait(0.05)

    assert asyncio.run(twice()) == (True, False)


@pytest.mark.postgres
def test_it_is_a_clock_while_the_database_cannot_be_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(**_where: Any) -> None:
        raise psycopg.OperationalError("away")

    monkeypatch.setattr(bell.psycopg.AsyncConnection, "connect", away)

    async def rings() -> int:
        async with Bell() as own:
            return sum([await own.wait(1) for _ in range(3)])

    assert asyncio.run(rings()) == 3

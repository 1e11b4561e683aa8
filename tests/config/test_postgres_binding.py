"""Long values reach PostgreSQL as they are, and nothing else about a statement changes."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection

from config.postgres.base import LONG, MOST_BOUND

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
EVERY_BYTE = bytes(range(256))


@pytest.fixture(autouse=True)
def table() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE kept (id serial, data bytea, note text, at timestamptz, n int)")
        yield
        cursor.execute("DROP TABLE kept")


@pytest.mark.parametrize(("size", "is_bound"), [(0, False), (LONG, False), (LONG + 1, True), (3_000_000, True)])
def test_a_value_of_any_length_is_kept_exactly(size: int, is_bound: bool) -> None:
    data = (EVERY_BYTE * (size // 256 + 1))[:size]
    values = [psycopg.Binary(data), "a note: %s %%", None, 7]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO kept (data, note, at, n) VALUES (%s, %s, %s, %s) RETURNING id, data, note, at, n", values
        )
        _id, kept, note, at, n = cursor.fetchone()
        assert (bytes(kept), note, at, n) == (data, "a note: %s %%", None, 7)
        assert (type(cursor.cursor) is psycopg.Cursor) == is_bound
        cursor.execute("SELECT count(*), now() FROM kept WHERE n = %s", [7])  # it is as good a cursor as before
        count, now = cursor.fetchone()
        assert (count, now.utcoffset().total_seconds()) == (1, 0)


def test_a_statement_of_more_values_than_can_be_bound_is_written_out() -> None:
    rows = MOST_BOUND // 2 + 1
    data = psycopg.Binary(b"x" * (LONG + 1))
    with connection.cursor() as cursor:
        values = [data, 0] + [None, 1] * (rows - 1)
        cursor.execute(f"INSERT INTO kept (data, n) VALUES {', '.join(['(%s, %s)'] * rows)}", values)
        assert cursor.rowcount == rows

"""Empties the database between tests that commit, past the guards that refuse every deletion in the product.

Rows that migrations made (groups, permissions, the name of the log) stay. And reads whatever is left anywhere.
"""

from __future__ import annotations

import base64
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.color import no_style
from django.db import connection, transaction
from django.test import TransactionTestCase

from approvals.trail import trailindex

KEPT = {
    "approvals_auditlog",
    "auth_group",
    "auth_group_permissions",
    "auth_permission",
    "django_content_type",
    "django_migrations",
}


def empty_database(*_: Any) -> None:
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    tables = sorted(set(names) - KEPT)
    with transaction.atomic(), guards_off():
        connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables))
        if trailindex.is_there():
            connection.cursor().execute(f"INSERT INTO {trailindex.INDEX}({trailindex.INDEX}) VALUES ('delete-all')")


@contextmanager
def guards_off() -> Iterator[None]:
    off = {"sqlite": _triggers_dropped, "postgresql": _triggers_disabled}[connection.vendor]
    with off():
        yield


@contextmanager
def _triggers_dropped() -> Iterator[None]:
    with connection.cursor() as cursor:
        triggers = cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _sql in triggers:
            cursor.execute(f'DROP TRIGGER "{name}"')
        yield
        for _name, sql in triggers:
            cursor.execute(sql)


@contextmanager
def _triggers_disabled() -> Iterator[None]:
    with connection.cursor() as cursor:
        # PostgreSQL alters no table that still waits for its deferred checks.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal")
        tables = [row[0] for row in cursor.fetchall()]
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        yield
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def use_for_transaction_tests() -> None:
    """Django's own flush would be refused by the guards."""
    TransactionTestCase._fixture_teardown = empty_database  # type: ignore[method-assign]


def everything() -> bytes:
    """Every value of every table, as one text: what was erased stands in none of it."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            cells = [cell for row in cursor.fetchall() for cell in row]
            found += [bytes(c) if isinstance(c, bytes | memoryview) else str(c).encode() for c in cells]
    return b"\n".join(found)


def unpacked(bundle: Path) -> bytes:
    """Every byte of a bundle, its members unpacked and their base64 read."""
    with zipfile.ZipFile(bundle) as packed:
        members = b"\n".join(packed.read(name) for name in packed.namelist())
    coded = re.findall(rb'"((?:[A-Za-z0-9+/]{4}){2,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)"', members)
    return b"\n".join([members, *map(base64.b64decode, coded)])

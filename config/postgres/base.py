"""Django's PostgreSQL backend, but long values travel as they are.

Django writes parameters into the statement. Ten megabytes then become twenty of hexadecimal digits that are made here
and read there, while the transaction holds its locks (`docs/decisions/0033-long-values-are-bound.md`).
"""

from __future__ import annotations

from typing import Any

import psycopg
from django.db.backends import utils
from django.db.backends.postgresql import base

LONG = 64 * 1024  # bytes; below it nothing is gained
MOST_BOUND = 2**16 - 1  # parameters of one statement, by PostgreSQL's protocol


class BindingCursor(utils.CursorWrapper):
    """From its first long value on, its statements are bound by the server."""

    def execute(self, sql: Any, params: Any = None) -> Any:
        if params and len(params) <= MOST_BOUND and any(map(is_long, params)):
            self.cursor.close()
            self.cursor = psycopg.Cursor(self.db.connection)
        return super().execute(sql, params)


class DatabaseWrapper(base.DatabaseWrapper):
    def make_cursor(self, cursor: Any) -> utils.CursorWrapper:
        return BindingCursor(cursor, self)


def is_long(value: Any) -> bool:
    """A long value of a binary column; those of other columns have ways of their own."""
    return isinstance(value, psycopg.Binary) and len(value.obj) > LONG

"""The SQLite backend with one write lock over all threads and processes."""

from __future__ import annotations

from django.db.backends.sqlite3 import base


class DatabaseWrapper(base.DatabaseWrapper):
    pass

#!/usr/bin/env python
"""Runs every command of Countersign; `manage.py help` lists them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import DatabaseError
from psycopg_pool import PoolTimeout

from demo import environment

UNDEFINED = ("42P01", "42703")  # a table, a column: PostgreSQL's codes, for its words follow the server's language


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] == ["demo"]:
        environment.prepare(sys.argv[2:], Path(__file__).resolve().parent)
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as problem:
        # A wrong setting is the operator's to mend: one sentence that names it, no traceback.
        sys.exit(f"Cannot start: {problem}")
    except DatabaseError as problem:
        if is_behind(problem):
            sys.exit("The database lacks tables of this version. Run this first: manage.py migrate")
        if isinstance(problem.__cause__, PoolTimeout):
            sys.exit("The database that DATABASE_URL names does not answer; the lines above say why.")
        raise


def is_behind(problem: DatabaseError) -> bool:
    """Was something asked for that only a migration makes?"""
    code = getattr(problem.__cause__, "sqlstate", None)
    return code in UNDEFINED or str(problem).startswith(("no such table", "no such column"))


if __name__ == "__main__":
    main()

"""Prints the table: `python -m benchmarks` for all rows, `python -m benchmarks recording memory` for some.

Exit status 1 when a goal is missed, 2 for a name that is none. Works on a database of its own: a file that is thrown
away, or a new one in the cluster that `DATABASE_URL` names.
"""

from __future__ import annotations

import base64
import importlib
import os
import pkgutil
import secrets
import sys
import tempfile
from pathlib import Path

import benchmarks
from benchmarks import ROWS, Row
from tests.desk import own_database

PROGRAMS = ("soak", "storm")  # run by name, no rows


def main(names: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder, own_database(Path(folder)) as database_url:
        prepare(database_url)
        unknown = [name for name in names if name not in ROWS]
        if unknown:
            print(f"There is no row {', '.join(unknown)}; there are: {', '.join(ROWS)}.", file=sys.stderr)
            return 2
        met = [shown(ROWS[name]) for name in names or ROWS]
    return 0 if all(met) else 1


def prepare(database_url: str) -> None:
    """Django with keys of its own on an empty database, and every row known."""
    keys = {name: base64.urlsafe_b64encode(secrets.token_bytes(32)).decode() for name in KEYS}
    os.environ.update(keys, DATABASE_URL=database_url, DJANGO_SETTINGS_MODULE="config.settings", DEBUG="0")
    os.environ.setdefault("ALLOWED_HOSTS", "127.0.0.1,localhost,testserver")
    os.environ.setdefault("EGRESS_ALLOW", "127.0.0.0/8")
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if not module.name.startswith("_") and module.name not in PROGRAMS:
            importlib.import_module(f"benchmarks.{module.name}")


KEYS = ("SECRET_KEY", "FIELD_KEY", "SIGNING_KEY")


def shown(row: Row) -> bool:
    found = row.measure()
    print(f"{row.name:14} {found.figure:>12}   {'met   ' if found.met else 'MISSED'}   {row.goal:34} {row.what}")
    if found.detail:
        print(f"{'':31}{found.detail}", flush=True)
    return found.met


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

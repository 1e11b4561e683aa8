"""A desk that stays where it was filled, so that a long trail is made once and measured again and again.

`BENCH_KEEP=FOLDER` names the folder. It holds the database (on PostgreSQL: the name of one, in the cluster of
`DATABASE_URL`) and the desk's keys and passwords. Whoever is done removes the folder, and drops that database.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from tests.desk import Desk

KEPT = ("DATABASE_URL", "SECRET_KEY", "FIELD_KEY", "SIGNING_KEY")
Fill = Callable[[Desk], object]


@contextmanager
def desk_kept_in(folder: Path, fill: Fill) -> Iterator[Desk]:
    """The desk of this folder with its web server; made and filled the first time. Half a filling is made anew."""
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / "desk.json"
    told = json.loads(note.read_text()) if note.exists() else None
    desk = Desk(folder, settings=told["settings"] if told else {})
    try:
        desk.prepare(told["settings"]["DATABASE_URL"] if told else lasting_database(folder))
        if told:
            desk.passwords = told["passwords"]
        else:
            desk.add_people()
            fill(desk)
            write(note, desk)
        desk.start("serve")
        yield desk
    finally:
        desk.stop()


def write(note: Path, desk: Desk) -> None:
    kept = {name: desk.settings[name] for name in KEPT}
    note.touch(mode=0o600)
    note.write_text(json.dumps({"settings": kept, "passwords": desk.passwords}))


def lasting_database(folder: Path) -> str:
    """An empty one of the kind that `DATABASE_URL` names."""
    given = os.environ["DATABASE_URL"]
    if not given.startswith("postgres"):
        for rest in folder.glob("desk.sqlite3*"):
            rest.unlink()
        return f"sqlite:///{folder.resolve() / 'desk.sqlite3'}"
    import psycopg

    name = f"kept_{secrets.token_hex(6)}"
    with psycopg.connect(given, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return urlunsplit(urlsplit(given)._replace(path=f"/{name}"))

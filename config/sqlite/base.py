"""Django's SQLite backend, but its writers take turns (`config.sqlite.turns`) and its log is written ahead.

A commit returns when it is on the disk, for which its turn is over already (`config.sqlite.disk`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base

from config.sqlite import disk
from config.sqlite.turns import Turns, turns_for

WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "ALTER", "DROP", "VACUUM", "REINDEX")
DEFAULT_TIMEOUT = 20.0


def make_private(path: Path) -> None:
    """A new database is nobody else's to read from its first byte; SQLite gives its -wal and -shm the same mode."""
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


class TurnTakingCursor(base.SQLiteCursorWrapper):
    """Single statements outside a transaction take their turn too."""

    desk: DatabaseWrapper
    _rows: Sequence[Any] = ()  # fetched, but not yet handed out

    def execute(self, query: str, params: Any = None) -> Any:
        with self.desk.turn_for(query) as is_alone:
            done = super().execute(query, params)
            if is_alone and self.description:  # of RETURNING: SQLite commits when the last row is fetched
                self._rows = super().fetchall()
            return done

    def executemany(self, query: str, param_list: Iterable[Any]) -> Any:
        with self.desk.turn_for(query):
            return super().executemany(query, param_list)

    def fetchone(self) -> Any:
        return next(iter(self.fetchmany(1)), None) if self._rows else super().fetchone()

    def fetchmany(self, size: int | None = 1) -> list[Any]:
        if not self._rows:
            return super().fetchmany(size)
        handed, self._rows = list(self._rows[:size]), self._rows[size:]
        return handed

    def fetchall(self) -> list[Any]:
        return self.fetchmany(len(self._rows)) if self._rows else super().fetchall()


class DatabaseWrapper(base.DatabaseWrapper):
    """Holds its turn from BEGIN IMMEDIATE to COMMIT or ROLLBACK."""

    # The four private methods are Django's own seam between its transactions and a driver; the stubs leave them out.

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._held: Turns | None = None
        self.waits_for_disk = True  # False: this transaction's commit does not; the next one does again

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        if not self.is_in_memory_db():
            make_private(Path(self.settings_dict["NAME"]))
        connection = super().get_new_connection(conn_params)
        connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten, not only let go
        if connection.execute("PRAGMA journal_mode").fetchone()[0] not in ("wal", "memory"):
            with self._turn():
                connection.execute("PRAGMA journal_mode = WAL")
        return connection

    def create_cursor(self, name: str | None = None) -> TurnTakingCursor:
        cursor: TurnTakingCursor = self.connection.cursor(factory=TurnTakingCursor)
        cursor.desk = self
        return cursor

    @contextmanager
    def turn_for(self, query: str) -> Iterator[bool]:
        """Whether the statement writes and has no transaction around it."""
        is_alone = self._held is None and query.lstrip()[:8].upper().startswith(WRITES)
        if is_alone:
            with self._turn():
                yield True
            self._reach_disk()
        else:
            yield False

    def _start_transaction_under_autocommit(self) -> None:
        self._take_turn()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._give_turn_back()
            raise

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        self._give_turn_back()  # only after success: a failed COMMIT is still a transaction, and is rolled back next
        self._reach_disk()

    def _rollback(self) -> None:
        self.waits_for_disk = True
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._give_turn_back()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._give_turn_back()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        self._take_turn()
        try:
            yield
        finally:
            self._give_turn_back()

    def _reach_disk(self) -> None:
        waits, self.waits_for_disk = self.waits_for_disk, True
        if not self.is_in_memory_db():
            (disk.reach if waits else disk.reach_soon)(str(self.settings_dict["NAME"]))

    def _take_turn(self) -> None:
        if self._held is None and not self.is_in_memory_db():
            turns = turns_for(str(self.settings_dict["NAME"]))
            turns.take(timeout=self.settings_dict["OPTIONS"].get("timeout", DEFAULT_TIMEOUT))
            self._held = turns

    def _give_turn_back(self) -> None:
        held, self._held = self._held, None
        if held:
            held.give_back()

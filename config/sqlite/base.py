"""Django's SQLite backend, but its writers take turns (`config.sqlite.turns`) and its log is written ahead."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base

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

    def execute(self, query: str, params: Any = None) -> Any:
        with self.desk.turn_for(query):
            return super().execute(query, params)

    def executemany(self, query: str, param_list: Iterable[Any]) -> Any:
        with self.desk.turn_for(query):
            return super().executemany(query, param_list)


class DatabaseWrapper(base.DatabaseWrapper):
    """Holds its turn from BEGIN IMMEDIATE to COMMIT or ROLLBACK."""

    # The four private methods are Django's own seam between its transactions and a driver; the stubs leave them out.

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._held: Turns | None = None

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
    def turn_for(self, query: str) -> Iterator[None]:
        if self._held is None and query.lstrip()[:8].upper().startswith(WRITES):
            with self._turn():
                yield
        else:
            yield

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

    def _rollback(self) -> None:
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

    def _take_turn(self) -> None:
        if self._held is None and not self.is_in_memory_db():
            turns = turns_for(str(self.settings_dict["NAME"]))
            turns.take(timeout=self.settings_dict["OPTIONS"].get("timeout", DEFAULT_TIMEOUT))
            self._held = turns

    def _give_turn_back(self) -> None:
        held, self._held = self._held, None
        if held:
            held.give_back()

"""What the guard must not forget: one SQLite file. Blocking, so `guarding` gives it a thread of its own.

The recorded bytes are the authority. A run that has no conclusion when the guard starts was cut off by a crash: it is
read again from its parts and concluded from them (`recover`), so nothing that passed through is lost over a `kill -9`.
Bytes are on record before anybody sees them; what decides (answers about to be sent, how they ended) is also synced.
"""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

from agentbridge.guard import rules
from agentbridge.guard.asking import Ask
from agentbridge.guard.entries import read_entries
from agentbridge.guard.rules import Book, Past, Question

VERSION = "1"
RUNNING, ORDINARY = "running", "ordinary"  # states of a run beside those of `rules`; an ordinary one answers nothing
TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS threads (key TEXT PRIMARY KEY, id BLOB NOT NULL, asking INTEGER);
CREATE TABLE IF NOT EXISTS runs (
  pk INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, run_id BLOB NOT NULL, resume BLOB, rest TEXT NOT NULL,
  state TEXT NOT NULL, ended INTEGER NOT NULL DEFAULT 0, heard INTEGER NOT NULL DEFAULT 0, began REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS runs_by_thread ON runs (thread, pk);
CREATE INDEX IF NOT EXISTS runs_by_age ON runs (began);
CREATE TABLE IF NOT EXISTS parts (run INTEGER NOT NULL, n INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (run, n));
CREATE TABLE IF NOT EXISTS questions (
  run INTEGER NOT NULL, position INTEGER NOT NULL, id BLOB NOT NULL, raw BLOB NOT NULL, schema BLOB, expires_at BLOB,
  proposal BLOB, PRIMARY KEY (run, position)
);
"""


class Unusable(Exception):
    """This state file cannot be worked with; the sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """How a run ended. `open`: the questions of the thread from now on; None leaves them as they are."""

    state: str  # "" = nothing was taken: the answers are forgotten
    ended: bool  # its terminal event is in the recording
    open: Sequence[Question] | None = None


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A run that was cut off by the end of the guard."""

    pk: int
    thread_id: str
    run_id: str
    answers: bool


class Journal:
    """Raises Unusable when the file is another guard's, in use, or none of ours."""

    def __init__(self, file: Path, *, agent: str | None = None) -> None:
        """`agent`: whose threads these are; None opens beside a running guard, to settle."""
        file = file.resolve()  # by whatever links it is named, it is one file, and has one lock
        with ExitStack() as opened:
            if agent is not None:
                opened.enter_context(_locked(file))
            try:
                found = sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=10)
                self._db = opened.enter_context(closing(found))
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.executescript(TABLES)
                self._check(agent)
            except sqlite3.Error as problem:
                raise Unusable(f"{file} cannot be used as a state file: {problem}.") from problem
            self._opened = opened.pop_all()

    def _check(self, agent: str | None) -> None:
        for name, value in (("version", VERSION), ("agent", agent)):
            if value is None:
                continue
            self._db.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (name, value))
            kept = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()[0]
            if kept != value:
                raise Unusable(f"This state file belongs to another {name}: {kept}, not {value}.")

    def close(self) -> None:
        self._opened.close()

    @contextmanager
    def _deed(self, *, synced: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction. Not `synced`: safe over a kill of this process, not over a power cut."""
        self._db.execute(f"PRAGMA synchronous={'FULL' if synced else 'NORMAL'}")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk ends it by itself
                self._db.execute("ROLLBACK")
            raise

    def book(self, key: str) -> Book:
        """What is known of a thread."""
        row = self._db.execute("SELECT id, asking FROM threads WHERE key = ?", (key,)).fetchone()
        if row is None:
            return Book()
        thread_id, asking = row
        run = self._db.execute("SELECT run_id FROM runs WHERE pk = ?", (asking,)).fetchone()
        return Book(
            thread_id=text(thread_id), asking=text(run[0]) if run else "", questions=self._questions(asking),
            past=self._past(key),
        )  # fmt: skip

    def _questions(self, run: int | None) -> list[Question]:
        rows = self._db.execute(
            "SELECT id, raw, schema, expires_at, proposal FROM questions WHERE run = ? ORDER BY position", (run,)
        )
        return [
            Question(id=text(id_), raw=text(raw), schema=maybe(schema), expires_at=maybe(at), proposal=maybe(proposal))
            for id_, raw, schema, at, proposal in rows
        ]

    def _past(self, key: str) -> list[Past]:
        rows = self._db.execute(
            "SELECT pk, run_id, resume, rest, state, heard FROM runs"
            " WHERE thread = ? AND resume IS NOT NULL ORDER BY pk DESC", (key,),
        )  # fmt: skip
        return [
            Past(pk=pk, run_id=text(run_id), entries=read_entries(text(resume)), rest=rest, heard=bool(heard),
                 state=rules.DOUBT if state == RUNNING else state)
            for pk, run_id, resume, rest, state, heard in rows
        ]  # fmt: skip

    def begin(self, ask: Ask, *, now: datetime) -> int:
        """From here on bytes may reach the agent."""
        with self._deed() as db:
            db.execute("INSERT OR IGNORE INTO threads VALUES (?, ?, NULL)", (ask.key, blob(ask.thread_id)))
            resume = None if ask.resume is None else blob(ask.resume)
            made = db.execute(
                "INSERT INTO runs (thread, run_id, resume, rest, state, began) VALUES (?, ?, ?, ?, ?, ?)",
                (ask.key, blob(ask.run_id), resume, ask.rest, RUNNING, now.timestamp()),
            )
        return int(made.lastrowid or 0)

    def append(self, run: int, n: int, data: bytes, *, synced: bool) -> None:
        with self._deed(synced=synced) as db:
            db.execute("INSERT INTO parts VALUES (?, ?, ?)", (run, n, data))

    def parts(self, run: int, start: int = 0, most: int = 16) -> list[bytes]:
        """The next recorded parts, as they came from the network."""
        wanted = "SELECT bytes FROM parts WHERE run = ? AND n >= ? ORDER BY n LIMIT ?"
        rows = self._db.execute(wanted, (run, start, most))
        return [bytes(row[0]) for row in rows]

    def is_ended(self, run: int) -> bool:
        row = self._db.execute("SELECT ended FROM runs WHERE pk = ?", (run,)).fetchone()
        return bool(row and row[0])

    def conclude(self, run: int, end: Conclusion) -> None:
        """Write down how a run ended, and what its thread asks from now on."""
        with self._deed() as db:
            thread, resume = db.execute("SELECT thread, resume FROM runs WHERE pk = ?", (run,)).fetchone()
            state = end.state if resume is not None else ORDINARY
            db.execute("UPDATE runs SET state = ?, ended = ? WHERE pk = ?", (state, end.ended, run))
            if end.open is not None:
                db.execute("UPDATE threads SET asking = ? WHERE key = ?", (run if end.open else None, thread))
                db.executemany(
                    "INSERT OR REPLACE INTO questions VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [(run, place, *columns(question)) for place, question in enumerate(end.open)],
                )
            if not state:
                db.execute("DELETE FROM runs WHERE pk = ?", (run,))

    def hear(self, run: int) -> None:
        """Somebody has received everything."""
        with self._deed(synced=False) as db:
            db.execute("UPDATE runs SET heard = 1 WHERE pk = ?", (run,))

    def drop_parts(self, run: int) -> None:
        """Of a run whose stream nobody can ask for again."""
        with self._deed(synced=False) as db:
            kept = db.execute("SELECT 1 FROM runs WHERE pk = ? AND state <> ?", (run, ORDINARY)).fetchone()
            if kept is None:
                db.execute("DELETE FROM parts WHERE run = ?", (run,))

    def unfinished(self) -> list[Unfinished]:
        rows = self._db.execute(
            "SELECT pk, id, run_id, resume IS NOT NULL FROM runs JOIN threads ON key = thread WHERE state = ?",
            (RUNNING,),
        )
        return [Unfinished(pk, text(id_), text(run_id), bool(answers)) for pk, id_, run_id, answers in rows.fetchall()]

    def prune(self, *, now: datetime, keep: timedelta) -> None:
        """Forget the recordings of answers that are older: from then on they are refused, and still never sent.

        Of ordinary runs, and of questions that are answered, nothing is kept.
        """
        asking = "SELECT asking FROM threads WHERE asking IS NOT NULL"
        old = "SELECT pk FROM runs WHERE began < ? AND state IN ('taken', 'failed', 'refused', 'ordinary')"
        before = ((now - keep).timestamp(),)
        with self._deed() as db:
            db.execute(f"DELETE FROM parts WHERE run IN ({old})", before)  # noqa: S608 no input
            db.execute(f"DELETE FROM runs WHERE pk IN ({old}) AND state = 'ordinary' AND pk NOT IN ({asking})", before)  # noqa: S608
            db.execute(f"DELETE FROM questions WHERE run NOT IN ({asking})")  # noqa: S608

    def doubts(self) -> list[str]:
        """Threads that wait for their owner."""
        rows = self._db.execute("SELECT DISTINCT id FROM runs JOIN threads ON key = thread WHERE state = 'doubt'")
        return [text(row[0]) for row in rows]

    def settle(self, key: str, *, taken: bool) -> int:
        """The owner has looked: the answers in doubt were taken, or they were not and may come again. How many."""
        with self._deed() as db:
            if not taken:
                doubted = "SELECT pk FROM runs WHERE thread = ? AND state = 'doubt'"
                db.execute(f"DELETE FROM parts WHERE run IN ({doubted})", (key,))  # noqa: S608 no input
                return db.execute("DELETE FROM runs WHERE thread = ? AND state = 'doubt'", (key,)).rowcount
            db.execute("UPDATE threads SET asking = NULL WHERE key = ?", (key,))
            return db.execute("UPDATE runs SET state = 'taken' WHERE thread = ? AND state = 'doubt'", (key,)).rowcount


def _locked(file: Path) -> IO[str]:
    """One guard a file: two would each think that they alone serialise its threads."""
    try:
        lock = file.with_name(file.name + ".lock").open("w")
        file.touch(mode=0o600)  # it holds what agents propose
    except OSError as problem:
        raise Unusable(f"{file} cannot be used as a state file: {problem.strerror}.") from problem
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise Unusable(f"Another guard works with {file}.") from None
    return lock


def columns(question: Question) -> tuple[bytes | None, ...]:
    found = (question.id, question.raw, question.schema, question.expires_at, question.proposal)
    return tuple(None if value is None else blob(value) for value in found)


def blob(value: str) -> bytes:
    """Ids and texts are opaque: they may hold NUL and half a surrogate pair."""
    return value.encode("utf-8", "surrogatepass")


def text(value: bytes) -> str:
    return bytes(value).decode("utf-8", "surrogatepass")


def maybe(value: bytes | None) -> str | None:
    return None if value is None else text(value)

"""What the guard finds again after a crash, and who may work with its file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentbridge.guard import rules
from agentbridge.guard.asking import Ask, digest, read
from agentbridge.guard.guarding import recover
from agentbridge.guard.journal import Journal, Unusable
from tests.agentbridge.guard.conftest import answer, asked
from tests.scripted_agent import call, finished, interrupt, result, started

NOW = datetime(2026, 11, 30, tzinfo=UTC)
LIMIT = 1_000_000
AGENT = "http://127.0.0.1:1/agent"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "state", agent=AGENT)
    yield journal
    journal.close()


def wants(run: str, resume: list[dict[str, object]] | None = None, thread: str = "t") -> Ask:
    return read(json.dumps(asked(run, resume, thread)).encode())


def said(ask: Ask, *frames: bytes) -> bytes:
    ids = {b"__THREAD__": ask.thread_id, b"__RUN__": ask.run_id}
    text = b"".join(frames)
    for sign, id_ in ids.items():
        text = text.replace(sign, json.dumps(id_)[1:-1].encode())
    return text


def cut_off(journal: Journal, ask: Ask, *frames: bytes) -> rules.Book:
    """A run that was being read when the guard died, as the next guard finds it."""
    run = journal.begin(ask, now=NOW)
    text = said(ask, *frames)
    for n in range(0, len(text), 7):
        journal.append(run, n // 7, text[n : n + 7], synced=False)
    assert recover(journal, limit=LIMIT) == 1
    return journal.book(ask.key)


def test_a_pause_that_was_recorded_whole_is_open_after_a_crash(journal: Journal) -> None:
    odd = interrupt("\x00\udc00", responseSchema={"type": "object"}, expiresAt="2999-01-01T00:00:00Z")
    book = cut_off(journal, wants("r-1"), started(), call(args='{"a": 1.0}'), finished(odd))
    (question,) = book.questions
    assert (book.thread_id, book.asking, question.id) == ("t", "r-1", "\x00\udc00")
    assert (question.proposal, json.loads(question.schema or "")) == ('{"a": 1.0}', {"type": "object"})
    assert json.loads(question.raw) == odd


def test_half_a_pause_is_none(journal: Journal) -> None:
    assert cut_off(journal, wants("r-1"), started(), finished(interrupt())[:-20]).questions == []


@pytest.mark.parametrize(
    ("frames", "state"),
    [([], "doubt"), ([started(), result()], "doubt"), ([started(), result(), finished()], "taken"),
     ([started(), finished(interrupt("next"))], "taken")],
)  # fmt: skip
def test_answers_that_were_cut_off_are_concluded_from_what_is_on_record(
    journal: Journal, frames: list[bytes], state: str
) -> None:
    cut_off(journal, wants("r-1"), started(), finished(interrupt()))
    book = cut_off(journal, wants("r-2", [answer()]), *frames)
    assert [past.state for past in book.past] == [state]
    expected = {"doubt": ["int-1"], "taken": ["next"] if b"next" in b"".join(frames) else []}
    assert book.ids == expected[state]


def test_the_owner_settles_a_doubt_either_way(journal: Journal, tmp_path: Path) -> None:
    for thread in ("ran", "not"):
        cut_off(journal, wants("r-1", thread=thread), started(), finished(interrupt()))
        cut_off(journal, wants("r-2", [answer()], thread), started())
    beside = Journal(tmp_path / "state")
    doubted = [past.pk for past in journal.book(digest("not")).past]
    assert all(journal.parts(run) for run in doubted)
    assert beside.settle(digest("ran"), taken=True) == beside.settle(digest("not"), taken=False) == 1
    assert not any(journal.parts(run) for run in doubted)
    assert beside.settle(digest("ran"), taken=True) == 0 and beside.doubts() == []
    beside.close()
    ran, open_ = journal.book(digest("ran")), journal.book(digest("not"))
    assert (ran.ids, [past.state for past in ran.past]) == ([], ["taken"])
    assert (open_.ids, open_.past) == (["int-1"], [])


def test_old_recordings_go_and_the_answers_stay_known(journal: Journal) -> None:
    cut_off(journal, wants("r-1"), started(), finished(interrupt()))
    book = cut_off(journal, wants("r-2", [answer()]), started(), finished())
    run = book.past[0].pk
    journal.prune(now=NOW + timedelta(days=30), keep=timedelta(days=31))
    assert journal.parts(run)
    journal.prune(now=NOW + timedelta(days=32), keep=timedelta(days=31))
    assert journal.parts(run) == [] and [past.state for past in journal.book(digest("t")).past] == ["taken"]


def test_one_guard_a_file_and_one_agent_a_file(journal: Journal, tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="Another guard"):
        Journal(tmp_path / "state", agent=AGENT)
    journal.close()
    with pytest.raises(Unusable, match="another agent"):
        Journal(tmp_path / "state", agent="http://127.0.0.1:2/agent")
    (tmp_path / "page").write_bytes(b"<html>" * 500)
    with pytest.raises(Unusable, match="cannot be used as a state file"):
        Journal(tmp_path / "page", agent=AGENT)
    with pytest.raises(Unusable, match="cannot be used as a state file"):
        Journal(tmp_path / "no folder" / "state", agent=AGENT)


def test_one_guard_a_file_by_whatever_name(journal: Journal, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "state")
    with pytest.raises(Unusable, match="Another guard"):
        Journal(tmp_path / "link", agent=AGENT)


def test_a_disk_that_is_full_for_a_while_spoils_nothing(journal: Journal) -> None:
    run = journal.begin(wants("r-1"), now=NOW)
    (pages,) = journal._db.execute("PRAGMA page_count").fetchone()
    journal._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        journal.append(run, 0, b"x" * 100_000, synced=True)
    journal._db.execute("PRAGMA max_page_count = 1000000")
    journal.append(run, 0, b"said", synced=True)
    assert journal.parts(run) == [b"said"]


def test_its_file_is_for_its_owner_alone(journal: Journal, tmp_path: Path) -> None:
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600

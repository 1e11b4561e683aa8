"""A commit is on the disk before anybody is told of it, and keeps no other writer waiting meanwhile."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection, transaction

from agentbridge.work.database import need_not_wait
from approvals.models import Queue
from config.sqlite import disk
from tests.waiting import PATIENCE

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="about SQLite"),
]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the disk was asked to keep, by the files' names."""
    names: list[str] = []
    whole = os.fdatasync

    def keep(file: int) -> None:
        names.append(Path(f"/proc/self/fd/{file}").readlink().name)
        whole(file)

    monkeypatch.setattr("os.fdatasync", keep)
    return names


def in_a_transaction() -> None:
    with transaction.atomic():
        Queue.objects.create(name="one")
        Queue.objects.create(name="two")


def by_itself() -> None:
    Queue.objects.bulk_create([Queue(name="one"), Queue(name="two")])


@pytest.mark.parametrize("write", [in_a_transaction, by_itself])
def test_a_commit_returns_when_the_log_is_on_the_disk(write: Callable[[], None], told: list[str]) -> None:
    write()
    assert told == [f"{Path(connection.settings_dict['NAME']).name}-wal"]


def test_a_single_statement_does_too(told: list[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM approvals_queue")
    assert len(told) == 1


def test_reading_and_what_is_rolled_back_wait_for_no_disk(told: list[str]) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        Queue.objects.create(name="never")
        _ = 1 / 0
    assert not Queue.objects.exists()
    assert told == []


def test_while_one_waits_for_the_disk_another_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, served, whole = threading.Event(), threading.Event(), os.fdatasync

    def slow(file: int) -> None:
        if threading.current_thread() is first:
            asked.set()
            assert served.wait(PATIENCE)
        whole(file)

    monkeypatch.setattr("os.fdatasync", slow)
    first = threading.Thread(target=lambda: (Queue.objects.create(name="first"), connection.close()))
    first.start()
    assert asked.wait(PATIENCE)
    Queue.objects.create(name="second")
    assert first.is_alive()
    served.set()
    first.join(PATIENCE)
    assert set(Queue.objects.values_list("name", flat=True)) == {"first", "second"}


def test_what_need_not_wait_is_on_its_way_and_the_next_commit_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    here, carried, whole = threading.current_thread(), threading.Event(), os.fdatasync
    waited: list[str] = []

    def keep(file: int) -> None:
        whole(file)
        if threading.current_thread() is here:
            waited.append("here")
        else:
            carried.set()

    monkeypatch.setattr("os.fdatasync", keep)
    with transaction.atomic():
        need_not_wait()
        Queue.objects.create(name="soon")
    assert not waited
    assert carried.wait(PATIENCE)
    Queue.objects.create(name="now")
    assert waited == ["here"]


def test_who_need_not_wait_and_fails_leaves_nothing_to_the_next(told: list[str]) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        need_not_wait()
        _ = 1 / 0
    Queue.objects.create(name="next")
    assert len(told) == 1


def test_a_disk_that_fails_is_an_error_and_leaves_the_turn_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr("os.fdatasync", broken)
        with pytest.raises(OperationalError, match="Input/output error"), transaction.atomic():
            Queue.objects.create(name="unsure")
    Queue.objects.create(name="sure")
    assert Queue.objects.filter(name="sure").exists()


def test_a_log_that_was_put_away_is_on_the_disk_already(tmp_path) -> None:
    disk.reach(str(tmp_path / "closed.sqlite3"))


def test_what_a_single_statement_returns_is_there_when_it_is_on_the_disk(told: list[str]) -> None:
    rows = "('x', 'a'), ('x', 'b'), ('x', 'c')"
    asked = f"INSERT INTO django_content_type (app_label, model) VALUES {rows} RETURNING model"
    with connection.cursor() as cursor:
        cursor.execute(asked)
        assert len(told) == 1
        assert cursor.fetchone() == ("a",)
        assert cursor.fetchall() == [("b",), ("c",)]
        assert cursor.fetchone() is None
        cursor.execute("DELETE FROM django_content_type WHERE app_label = 'x'")


def test_a_process_with_no_file_left_to_open_says_that_the_database_is_in_trouble(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_args: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as crowded:
        crowded.setattr("config.sqlite.disk.os", SimpleNamespace(open=full, O_RDONLY=0, O_CLOEXEC=0))
        with pytest.raises(OperationalError, match="Too many open files"):
            disk.reach(str(connection.settings_dict["NAME"]))

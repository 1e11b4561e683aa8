"""Writers of one SQLite file take turns, readers do not."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import OperationalError, connection, transaction

from approvals.models import Queue
from config.sqlite.base import make_private
from config.sqlite.turns import Turns
from tests.waiting import PATIENCE

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="about SQLite"),
]

HOLD = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.readline()
"""


def in_threads(count: int, work: Callable[[], None]) -> list[BaseException]:
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except Exception as failure:
            failures.append(failure)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


@contextmanager
def another_process_writes() -> Iterator[subprocess.Popen[str]]:
    path = f"{connection.settings_dict['NAME']}.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder
        holder.kill()


def count_up() -> None:
    for _ in range(10):
        with transaction.atomic():
            queue = Queue.objects.get(name="counter")
            queue.risk = str(int(queue.risk) + 1)
            queue.save()


def test_read_then_write_in_eight_threads_loses_nothing():
    Queue.objects.create(name="counter", risk="0")
    assert in_threads(8, count_up) == []
    assert Queue.objects.get(name="counter").risk == "80"


def test_single_statements_take_their_turn_too():
    counted = iter(range(10_000))
    assert in_threads(8, lambda: [Queue.objects.create(name=f"q{next(counted)}") for _ in range(20)]) == []
    assert Queue.objects.count() == 160


def test_a_writer_waits_for_another_process():
    with another_process_writes() as holder:
        writer = threading.Thread(target=lambda: (Queue.objects.create(name="late"), connection.close()))
        writer.start()
        time.sleep(0.2)
        assert not Queue.objects.filter(name="late").exists()  # and reading did not wait
        holder.kill()  # a turn ends with its process
        writer.join(PATIENCE)
    assert Queue.objects.filter(name="late").exists()


def test_a_turn_that_never_comes_is_an_error_with_a_reason(tmp_path: Path):
    mine, theirs = Turns(tmp_path / "lock"), Turns(tmp_path / "lock")
    theirs.take(timeout=PATIENCE)
    with pytest.raises(OperationalError, match="another process kept its turn"):
        mine.take(timeout=0.05)
    theirs.give_back()
    mine.take(timeout=0.05)
    with pytest.raises(OperationalError, match="another thread kept its turn"):
        mine.take(timeout=0.05)
    mine.give_back()


def test_a_failed_transaction_gives_its_turn_back():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        Queue.objects.create(name="never")
        _ = 1 / 0
    assert in_threads(1, lambda: Queue.objects.create(name="next") and None) == []
    assert list(Queue.objects.values_list("name", flat=True)) == ["next"]


def test_the_file_is_written_ahead_and_guarded():
    with connection.cursor() as cursor:
        found = {name: cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in
                 ("journal_mode", "foreign_keys", "recursive_triggers")}
    assert found == {"journal_mode": "wal", "foreign_keys": 1, "recursive_triggers": 1}


def test_a_new_database_is_nobody_elses_to_read(tmp_path):
    make_private(tmp_path / "desk.sqlite3")

    with sqlite3.connect(tmp_path / "desk.sqlite3") as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("CREATE TABLE t (n)")
        assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    made.close()


def test_a_lock_that_cannot_be_opened_is_trouble_of_the_database_and_holds_nobody_up(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "volume" / "desk.sqlite3.lock")
    with pytest.raises(OperationalError, match="unable to open the lock"):
        turns.take(timeout=PATIENCE)
    turns.path.parent.mkdir()
    turns.take(timeout=PATIENCE)
    turns.give_back()

"""A note and a change of rights may take the same people, and neither waits for the other for ever (PostgreSQL)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from django.utils import timezone

from approvals.models import Task, User
from approvals.verbs import notes
from tests.people import only_task
from tests.waiting import until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite locks no rows"),
]


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # or a transaction sees again what it saw first
        cursor.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
        return cursor.fetchone() is not None


def test_an_author_is_not_held_while_one_of_the_mentioned_is_waited_for(alice: User, bob: User, open_case) -> None:
    """Whoever changes the rights of both takes the earlier one first; the later one must still be free."""
    first, author = sorted((alice, bob), key=lambda person: person.pk)
    task = only_task(open_case())

    def write(about: Task) -> None:
        notes.add(about, by=author, text=f"@{first.username} have a look", now=timezone.now())
        connection.close()

    rows = User.objects.select_for_update(no_key=True, nowait=True)
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            rows.get(pk=first.pk)
            note = threads.submit(write, task)
            until(somebody_waits)
            rows.get(pk=author.pk)  # raises where it is held
        note.result()
    assert task.notes.count() == 1

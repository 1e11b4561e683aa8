"""A reviewer's part of a long trail is found without walking through the rest, and is neither more nor less."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils import timezone

from approvals import audit
from approvals.models import Queue, User
from approvals.models.people import Role
from approvals.trail import trailsearch
from tests.people import OpenCase, new_task, person


@pytest.fixture
def trail(alice: User, charlie: User, carol: User, payments: Queue, open_case: OpenCase) -> list[User]:
    """Entries on tasks, cases and conversations of two queues, and of people; who reads what of it."""
    travel = charlie.own_queues[0]
    shared = open_case(tasks=[new_task(payments), new_task(travel, 2)])
    alone = open_case(case={"thread_key": "a" * 64})
    for task in (*shared.tasks.order_by("position"), *alone.tasks.all()):
        audit.record("task.flagged", "It looks odd.", task=task, now=timezone.now())
    for thread in (shared.thread_key, alone.thread_key, "b" * 64, ""):
        audit.record("user.changed", "A run ended.", agent="payer", thread_key=thread, now=timezone.now())
    audit.record("login.ok", "Alice signed in.", actor=alice, now=timezone.now())
    return [alice, charlie, carol, person("nina", Role.REVIEWER), person("both", Role.REVIEWER, "payments", "travel")]


@pytest.mark.parametrize("few", [trailsearch.FEW, 0], ids=["found by index", "walking back"])
def test_nobody_reads_more_or_less_of_the_trail_for_having_it_found_quickly(trail, monkeypatch, few):
    monkeypatch.setattr(trailsearch, "FEW", few)
    for user in trail:
        readable = trailsearch.visible(user).order_by("-seq")
        assert trailsearch.newest(trailsearch.narrowed(readable, user), most=100) == list(readable), user
    assert len({trailsearch.visible(user).count() for user in trail}) == len(trail), "each reads another part"


def test_who_reads_little_is_not_walked_through_the_whole_trail(trail, alice):
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
    found = trailsearch.narrowed(trailsearch.visible(alice), alice).order_by("-seq")[:51]
    by_number = {"sqlite": "(seq=?)", "postgresql": "Index Cond: (seq = "}
    assert by_number[connection.vendor] in found.explain()


def test_nothing_is_narrowed_for_who_reads_all(trail, carol):
    entries = trailsearch.visible(carol)
    assert trailsearch.narrowed(entries, carol) is entries

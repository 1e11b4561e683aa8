"""Searching the trail: the index finds what reading the whole trail would find, and forgets what was erased."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from approvals import audit
from approvals.models import AuditEntry
from approvals.trail import trailindex, trailsearch

SENTENCES = (
    "alice paid invoice 4711 to Müller",
    "bob paid invoice 4712",
    'carol said "no" to 50% of it',
    "승인 요청을 보냈습니다",
    "a 🦔🦔🦔 walked by",
)
WORDS = (
    "invoice", "INVOICE 471", "4712 bob", "müller", '"no"', "50%", "승인", "요청을", "🦔🦔🦔", "pai", "in", "i_voice",
    "invoice nobody", "", "ali*", "paid OR carol",
)  # fmt: skip


@pytest.fixture
def trail(db: None) -> None:
    for sentence in SENTENCES:
        audit.record("user.changed", sentence, now=timezone.now())


def found(q: str) -> list[str]:
    return [entry.sentence or "" for entry in trailsearch.filtered(AuditEntry.objects.order_by("seq"), q=q)]


def holding(q: str) -> list[str]:
    return [sentence for sentence in SENTENCES if all(word in sentence.casefold() for word in q.casefold().split())]


@pytest.mark.parametrize("rare", [trailindex.RARE, 0], ids=["fetching", "walking back"])
@pytest.mark.parametrize("q", WORDS)
def test_all_words_are_found_wherever_they_stand(trail, monkeypatch, q, rare):
    monkeypatch.setattr(trailindex, "RARE", rare)
    assert found(q) == holding(q)


def test_what_was_erased_is_found_no_more_and_the_rest_still_is(trail):
    AuditEntry.objects.filter(search_text__contains="4711").update(search_text=None)
    assert found("invoice") == ["bob paid invoice 4712"]
    if trailindex.is_there():
        assert rows(f"SELECT rowid FROM {trailindex.INDEX} WHERE {trailindex.INDEX} MATCH '711'") == []


def test_a_word_is_looked_up_in_the_index(trail):
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_indexscan = off")
    plan = trailsearch.filtered(AuditEntry.objects.order_by("-seq"), q="invoice").explain()
    assert {"sqlite": "VIRTUAL TABLE INDEX", "postgresql": trailindex.INDEX}[connection.vendor] in plan


def test_without_the_index_the_trail_itself_is_read(trail):
    trailindex.remove(connection)
    assert found("invoice 471") == holding("invoice 471")
    audit.record("user.changed", "dave paid invoice 4713", now=timezone.now())
    assert trailindex.install(connection)
    assert found("4713") == ["dave paid invoice 4713"]


def rows(query: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


def test_until_leaves_out_nothing_that_a_clock_put_out_of_order(db):
    """Numbers and moments need not go the same way: whatever was told before the moment is found."""
    now = timezone.now()
    for minutes in (-3, 5, -1, 4):
        audit.record("login.ok", "Somebody signed in.", now=now + timedelta(minutes=minutes))
    found = trailsearch.filtered(AuditEntry.objects.all(), until=now).filter(verb="login.ok")
    assert sorted(one.at for one in found) == [now - timedelta(minutes=3), now - timedelta(minutes=1)]
    assert not trailsearch.filtered(AuditEntry.objects.all(), until=now - timedelta(days=1)).exists()


def test_since_leaves_out_nothing_that_a_clock_put_out_of_order(db):
    now = timezone.now()
    for minutes in (5, -3, 4, -1):
        audit.record("login.ok", "Somebody signed in.", now=now + timedelta(minutes=minutes))
    found = trailsearch.filtered(AuditEntry.objects.all(), since=now).filter(verb="login.ok")
    assert sorted(one.at for one in found) == [now + timedelta(minutes=4), now + timedelta(minutes=5)]
    assert not trailsearch.filtered(AuditEntry.objects.all(), since=now + timedelta(days=1)).exists()


def test_between_two_moments_only_what_lies_between_is_found(db):
    now = timezone.now()
    for minutes in (0, 1, 2, 3):
        audit.record("login.ok", "Somebody signed in.", now=now + timedelta(minutes=minutes))
    since, until = now + timedelta(minutes=1), now + timedelta(minutes=3)
    found = trailsearch.filtered(AuditEntry.objects.all(), since=since, until=until)
    assert [one.at for one in found.order_by("seq")] == [since, now + timedelta(minutes=2)]

"""The audit page: newest first, filters in the address, nobody reads more than they may."""

from __future__ import annotations

import pytest
from django.utils import timezone

from approvals import audit
from approvals.models import AuditEntry
from tests.pages import Page
from tests.people import decide


@pytest.fixture
def read(client):
    def read(user, **filters: str) -> Page:
        client.force_login(user)
        return Page(client.get("/audit/", filters).content.decode())

    return read


def rows(page: Page) -> list[int]:
    ids = [given["id"] for tag, given in page.tags if tag == "tr" and given.get("id", "").startswith("entry-")]
    return [int(one.removeprefix("entry-")) for one in ids]


def test_newest_first_with_sentence_number_and_hash(carol, alice, task, read):
    decide(task, alice)
    page = read(carol)
    assert rows(page) == sorted(rows(page), reverse=True)
    entry = AuditEntry.objects.get(verb="task.decided")
    assert f"alice approved {task.code}." in page.text and entry.leaf_hash[:4] in page.text


@pytest.mark.parametrize(
    ("filters", "verbs"),
    [
        ({"verb": "task.decided"}, {"task.decided"}),
        ({"actor": "alice"}, {"task.decided"}),
        ({"q": "APPROVED"}, {"task.decided"}),
        ({"agent": "nobody"}, set()),
        ({"thread": "another"}, set()),
        ({"until": "2001-01-01"}, set()),
    ],
)
def test_filters_stand_in_the_address(filters, verbs, carol, alice, task, read):
    decide(task, alice)
    found = AuditEntry.objects.filter(seq__in=rows(read(carol, **filters)))
    assert set(found.values_list("verb", flat=True)) == verbs


def test_a_case_has_its_own_filter(carol, open_case, read):
    one, other = open_case(), open_case()
    page = read(carol, case=one.code.lower())
    assert one.code in page.text and other.code not in page.text


def test_a_day_counts_whole(carol, task, read):
    today = timezone.now().date().isoformat()
    assert rows(read(carol, since=today, until=today, case=task.case.code))


def test_what_is_no_date_is_said_and_finds_nothing(carol, client, task):
    client.force_login(carol)
    answer = client.get("/audit/", {"since": "yesterday"})
    assert answer.status_code == 400 and "“yesterday” is not a date." in answer.content.decode()


def test_reviewers_read_what_concerns_their_cases(alice, charlie, task, read):
    assert task.case.code in read(alice).text
    assert task.case.code not in read(charlie).text


def test_older_entries_follow_by_number(carol, task, read):
    for number in range(60):
        audit.record("task.flagged", f"Number {number}", task=task, now=timezone.now())
    first = read(carol)
    older = next(link for link in first.links() if "before=" in link)
    second = read(carol, before=older.partition("before=")[2])
    assert len(rows(first)) == 50 and max(rows(second)) == min(rows(first)) - 1


def test_an_erased_entry_stays_in_its_place(carol, task, read):
    AuditEntry.objects.filter(task=task).update(sentence=None, sentence_salt=None, data=None, data_salt=None)
    page = read(carol, verb="task.opened")
    assert rows(page) and "erased" in page.text


def test_foreign_words_in_sentences_stay_text(carol, task, read):
    audit.record("task.flagged", "<script>x</script>\u202e", task=task, now=timezone.now())
    page = read(carol)
    assert "<script>x" not in page.source and "U+202E" in page.text

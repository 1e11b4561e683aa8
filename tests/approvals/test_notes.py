"""Notes between people, who is reading, and what was decided before."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import people
from approvals.refusals import Invalid, NotAllowed
from approvals.verbs import notes, reading
from tests.pages import Page
from tests.people import decide, new_task, only_task, shown, verbs


def note(task, by, text: str):
    return notes.add(task, by=by, text=text, now=timezone.now())


def unread(person) -> int:
    person.refresh_from_db()
    return person.unread_mentions


def test_a_mention_reaches_who_may_see_the_task_and_nobody_else(alice, bob, charlie, task):
    note(task, alice, "@bob and @charlie, is this the old IBAN? @alice")
    assert (unread(bob), unread(charlie), unread(alice)) == (1, 0, 0)


def test_opening_the_case_is_having_seen_it(client, alice, bob, task):
    note(task, alice, "Look, @bob.")
    client.force_login(bob)
    client.get(f"/cases/{task.case.code}/")
    assert unread(bob) == 0 and not notes.unread(bob).exists()
    note(task, alice, "And here, @bob.")
    assert client.post(f"/cases/{task.case.code}/reading/").status_code == 200
    assert unread(bob) == 0


def test_a_note_is_in_the_trail_and_in_no_answer(alice, task):
    note(task, alice, "secret of the house")
    decision = decide(task, alice, "rejected", comment="no")
    assert "note.added" in verbs(task.case) and "secret" not in decision.answer


def test_a_note_is_on_the_page_and_says_that_agents_never_see_it(client, alice, bob, task):
    note(task, alice, "is <b>this</b> right?")
    client.force_login(bob)
    source = client.get(f"/cases/{task.case.code}/").content.decode()
    assert "is &lt;b&gt;this&lt;/b&gt; right?" in source and "the agent never sees them" in source


def test_auditors_read_notes_and_leave_none(carol, alice, task):
    note(task, alice, "hello")
    with pytest.raises(NotAllowed):
        note(task, carol, "me too")


@pytest.mark.parametrize("text", ["", "  \n ", "x" * 4_001])
def test_a_note_says_something_and_not_everything(alice, task, text):
    with pytest.raises(Invalid):
        note(task, alice, text)


@pytest.mark.parametrize(
    ("text", "names"),
    [("@bob.", ["bob"]), ("a@b.org", []), ("@a.b-c, @a.b-c", ["a.b-c"]), ("(@bob)", ["bob"]), ("@@bob", [])],
)
def test_names_are_read_out_of_sentences(text, names):
    assert notes.named(text) == names


def test_who_reads_is_shown_to_others_and_forgotten(client, alice, bob, task):
    now = timezone.now()
    reading.here(bob, task.case, now=now)
    client.force_login(alice)
    assert "bob is reading this" in Page(client.get(f"/cases/{task.case.code}/").content.decode()).text
    assert reading.others(alice, task.case, now=now + timedelta(minutes=2)) == []
    assert reading.others(bob, task.case, now=now) == []


def test_precedents_are_of_the_same_tool_and_queue_with_their_ends(client, alice, bob, open_case, payments):
    before = only_task(open_case(exhibit=shown(args='{"to": "ops@example.org", "amount": 7, "note": "rent"}')))
    decide(before, bob, "rejected", comment="seven is odd", reason_code="wrong_details")
    travel = only_task(open_case(tasks=[new_task(people.set_queue("travel", now=timezone.now()))]))
    case = open_case()
    client.force_login(alice)
    page = Page(client.get(f"/tasks/{only_task(case).code}/precedents/").content.decode())
    assert "details are wrong seven is odd" in page.text and "Asked then and now: 1 difference" in page.text
    assert travel.case.code not in page.text


def test_what_differs_in_a_set_is_said_above_each_call(client, alice, payments, open_case):
    tasks = [new_task(payments, n, exhibit=shown(args=f'{{"to": "p{n}@x.org", "note": "n"}}')) for n in (1, 2, 3)]
    client.force_login(alice)
    page = Page(client.get(f"/cases/{open_case(tasks=tasks).code}/").content.decode())
    assert "Differs from the 2 other calls of this case at to" in page.text and "the same: note" in page.text

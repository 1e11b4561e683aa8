"""The record of a case: every part with its entry, and what is missing in its place."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from agentbridge.models import Resume, Run
from approvals import jsontext, people, reviewing
from approvals.models import AuditEntry, Case
from approvals.trail import record
from approvals.verbs import claiming, notes
from tests import bridge_rows as rows
from tests.bridge_work import paused_case, register, work
from tests.emptying import guards_off
from tests.pages import Page
from tests.people import ARGS, decide, new_task, only_task, shown
from tests.programs import Program
from tests.scripted_agent import finishing, pausing
from tests.trails import tells

KEY = "ghp_" + "a1" * 15
ROUND = (
    "case.opened", "task.opened", "task.decided", "case.settled", "case.taken", "resume.sealed", "delivery.leased",
    "case.sent", "delivery.armed", "run.started", "delivery.accepted", "task.result", "run.finished",
    "delivery.finished", "case.delivered", "task.concluded",
)  # fmt: skip


@pytest.fixture
def read(client):
    def read(user, case, **query: str) -> Page:
        client.force_login(user)
        answer = client.get(f"/cases/{case.code}/record/", query)
        assert answer.status_code == 200
        return Page(answer.content.decode())

    return read


@pytest.mark.django_db(transaction=True)
def test_a_whole_round_stands_on_one_page(script, alice, carol, read, client):
    case = paused_case(register(script(pausing(), finishing())), alice)
    client.force_login(alice)
    client.get(f"/cases/{case.code}/")
    decide(only_task(case), alice, comment="Go ahead.")
    work()
    text = read(carol, case).text
    order = ["Proposed", "Could have decided", "Version 1, the last there was.", "Decided: approved", "Go ahead.",
             "Its author had that version on screen before.", "Sealed", "1 attempt", "What really ran",
             "Every entry of"]  # fmt: skip
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert "no entry tells of it" not in text
    assert str(Run.objects.get(kind="resumed").run_id) in text
    tells(case, *ROUND)


@pytest.mark.django_db(transaction=True)
def test_what_we_signed_is_shown_and_is_no_secret_but_what_it_tells_may_be_one(script, alice, carol, read):
    scripted = script(*[pausing(), finishing(None)] * 2)
    agent = register(scripted, receipts="Ed25519")
    for thread, edits in (("open", '{"amount": 1}'), ("secret", f'{{"amount": "{KEY}"}}')):
        decide(only_task(paused_case(agent, alice, thread_id=thread)), alice, edits=edits)
        work()
    plain, secret = (read(carol, case).text for case in Case.objects.order_by("pk"))
    for text in (plain, secret):
        assert "What was signed" in text and '"interruptId": "int-1"' in text
    token = json.loads(Resume.objects.order_by("pk")[0].signature)["receipts"]["int-1"]["jws"]
    assert token in plain
    assert KEY not in secret and '"jws": "eyJ' not in secret


@pytest.mark.django_db(transaction=True)
def test_a_signature_that_was_damaged_is_shown_as_it_stands(script, alice, carol, read):
    case = paused_case(register(script(pausing(), finishing())), alice)
    decide(only_task(case), alice)
    work()
    with guards_off():
        Resume.objects.update(signature='{"sent": true, "receipts": {"int-1": 7}}')
    assert '"receipts"' in read(carol, case).text


def test_what_is_missing_keeps_its_place(carol, task, read):
    text = read(carol, task.case).text
    for words in ("Seen by nobody", "Not decided", "Nothing sealed", "Nothing sent", "No result"):
        assert words in text


def test_who_was_told_is_what_is_on_record(carol, alice, bob, task, read):
    notes.add(task, by=alice, text="@bob please look, and @nobody too", now=timezone.now())
    reviewing.claim(task, by=alice, now=timezone.now())
    claiming.take_over(task, by=bob, reason="she is away", now=timezone.now())
    text = read(carol, task.case).text
    told = ["It stood in queue “payments”", "The desk sends no mail.", "alice named in a note: bob.",
            "bob took it over from alice, who finds that on the case.", "Nobody had it on screen."]  # fmt: skip
    assert [text.count(words) for words in told] == [1] * len(told)


def test_who_had_it_on_screen_is_told_with_the_moment(carol, alice, task, read, client):
    client.force_login(alice)
    client.get(f"/cases/{task.case.code}/")
    at = AuditEntry.objects.get(verb="case.shown").at
    assert f"On screen of: alice ({at:%Y-%m-%d %H:%M:%S}." in read(carol, task.case).text


def test_a_decision_without_a_look_says_so(carol, alice, task, read):
    decide(task, alice)
    assert "not on record that its author had that version on screen" in read(carol, task.case).text


def test_an_edit_is_a_typed_difference_and_a_decision_taken_back_stays(carol, alice, task, read):
    decide(task, alice, edits=ARGS.replace("120.50", "99"))
    reviewing.recall(task.case, by=alice, now=timezone.now())
    decide(task, alice, "rejected")
    text = read(carol, task.case).text
    assert "/amount" in text and "number" in text and "120.50" in text and "taken back" in text
    assert text.index("Decided: approved with edits") < text.index("Decided: rejected")


def test_a_reviewer_of_one_task_sees_the_other_by_state_and_nothing_sealed(charlie, open_case, payments, read):
    travel = people.set_queue("travel", now=timezone.now())
    case = open_case(tasks=[new_task(payments, 1), new_task(travel, 2)])
    rows.seal(case, rows.add_run(rows.add_agent(payments)))
    page = read(charlie, case)
    assert "Task of another queue" in page.text and "Nothing sealed" in page.text
    assert "you see your own tasks only" in page.text and page.text.count("Proposed") == 1


def test_a_conversation_stands_on_one_page(carol, open_case, read):
    first = open_case()
    second = open_case(case={"previous": first})
    one, both = read(carol, second), read(carol, second, chain="1")
    assert f"/cases/{first.code}/record/" in one.links() and one.text.count("was hashed again") == 1
    assert both.text.count("was hashed again") == 2


def test_an_entry_that_was_changed_is_named(carol, task, read):
    entry = AuditEntry.objects.get(verb="task.opened")
    with guards_off():
        AuditEntry.objects.filter(pk=entry.pk).update(sentence="Nothing happened.")
    entry.refresh_from_db()
    assert record.wrong(entry) == f"entry {entry.seq}: sentence"
    assert f"entry {entry.seq}: sentence" in read(carol, task.case).text


def test_the_rules_of_the_pause_stay_as_they_were(carol, alice, bob, task, payments, read):
    payments.members.clear()
    payments.risk = "high"
    payments.save()
    text = read(carol, task.case).text
    assert "payments, medium" in text


def test_foreign_words_stay_text(carol, open_case, payments, read):
    case = open_case(exhibit=shown(args='{"to": "<script>x</script>\\u202e"}', message="<b>hi</b>"))
    source = read(carol, case).source
    assert "<script>x" not in source and "<b>hi" not in source


@pytest.mark.django_db(transaction=True)
def test_whoever_only_reads_and_opens_a_run_looked_at_its_case(script, alice, carol, client):
    case = paused_case(register(script(pausing(), finishing())), alice)
    decide(only_task(case), alice)
    work()
    for person in (alice, carol):
        client.force_login(person)
        for run in Run.objects.order_by("pk"):
            for part in ("", "stream/", "input/"):
                assert client.get(f"/agents/payer/runs/{part}", {"run": run.run_id}).status_code == 200
    looks = case.entries.filter(verb="case.viewed").order_by("seq")
    pages = [jsontext.loads(look.data)["page"] for look in looks]
    assert ({look.actor for look in looks}, pages) == ({carol}, ["run", "stream", "input"] * 2)
    assert Program(carol).get("runs/stream", agent="payer", run=run.run_id).status_code == 200
    assert looks.count() == 6  # of a program once a day, and that was today

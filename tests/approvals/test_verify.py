"""Whoever gets past the guards is found: `verify` names the first entry that is not what was written."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils import timezone

from approvals import intake, reviewing
from approvals.models import AuditEntry
from approvals.trail import chain, verification
from tests.emptying import guards_off
from tests.people import decide, in_seconds, shown


@pytest.fixture
def story(alice, bob, olga, open_case, settings):
    """A bit of everything that the trail tells of."""
    settings.UNDO_SECONDS = 0
    first, second = open_case(2).tasks.order_by("position")
    decide(first, alice, comment="ok")
    reviewing.recall(first.case, by=alice, now=timezone.now())
    decide(first, bob, edits='{"to": "x"}')
    intake.refreeze(first, shown(args='{"to":"y"}'), now=timezone.now())
    decide(first, alice)
    decide(second, alice, "rejected", comment="\ud800 no")
    reviewing.take(first.case, now=timezone.now())
    return first


def tamper(sql: str, *params: object) -> None:
    with guards_off(), connection.cursor() as cursor:
        cursor.execute(sql, params)


def seq_of(verb: str) -> int:
    return AuditEntry.objects.filter(verb=verb).order_by("seq").values_list("seq", flat=True)[0]


def test_what_was_written_is_good(story):
    report = verification.verify()

    assert report.findings == []
    assert report.status == verification.GOOD
    assert report.entries == AuditEntry.objects.count()
    assert report.head == AuditEntry.objects.order_by("-seq")[0].leaf_hash


def test_empty_trail_is_good(db):
    assert verification.verify().status == verification.GOOD


@pytest.mark.parametrize(
    "change",
    [
        "body = %s",
        "leaf_hash = 'f00'",
        "sentence = %s",
        "sentence_salt = %s",
        "refs = %s",
        "data = %s",
        "data_salt = NULL",
        "verb = 'task.claimed'",
        "actor_kind = 'service'",
        "actor_id = NULL, actor_kind = 'system'",
        "at = '2020-01-01 00:00:00+00:00'",
        "task_id = NULL",
    ],
)
def test_changed_entry_is_named(story, change):
    seq = seq_of("task.decided")
    tamper(f"UPDATE approvals_auditentry SET {change} WHERE seq = {seq}", *([b"{}"] if "%s" in change else []))

    report = verification.verify()
    assert (report.status, report.first_bad) == (verification.TAMPERED, seq)


def test_deleted_entry_is_named(story):
    tamper("DELETE FROM approvals_auditentry WHERE seq = 3")

    assert verification.verify().first_bad == 3


def test_swapped_entries_are_named(story):
    for sql in ("seq = -1 WHERE seq = 4", "seq = 4 WHERE seq = 5", "seq = 5 WHERE seq = -1"):
        tamper(f"UPDATE approvals_auditentry SET {sql}")

    assert verification.verify().first_bad == 4


def test_rewritten_entry_shows_in_the_next_one(story):
    """A body forged with its own hash: only the chain tells."""
    entry = AuditEntry.objects.get(seq=4)
    body = entry.body.replace(b'"policy":null', b'"policy":"p"')
    tamper("UPDATE approvals_auditentry SET body = %s, leaf_hash = %s WHERE seq = 4", body, chain.leaf_hash(body))

    assert verification.verify().first_bad == 5


def test_inserted_entry_is_named(story):
    entry = AuditEntry.objects.order_by("-seq")[0]
    members = chain.read_body(entry.body)
    body = chain.write_body({**members, "seq": entry.seq + 1})
    AuditEntry(pk=entry.seq + 1, body=body, leaf_hash=chain.leaf_hash(body), at=entry.at, verb=entry.verb).save()

    assert verification.verify().first_bad == entry.seq + 1


@pytest.mark.parametrize(
    "change",
    ["verdict = 'cancelled'", "answer = %s", "edits = %s", "comment = %s", "shown_digest = 'x'", "by_id = NULL"],
)
def test_changed_decision_is_noticed(story, change):
    params = [b"[1]"] if "%s" in change else []
    tamper(f"UPDATE approvals_decision SET {change} WHERE id = (SELECT max(id) FROM approvals_decision)", *params)

    assert verification.verify().status == verification.TAMPERED


@pytest.mark.parametrize("when", ["recalled_at", "voided_at"])
def test_recall_without_an_entry_is_noticed(story, when):
    live = story.decisions.live().get()
    tamper(f"UPDATE approvals_decision SET {when} = at WHERE id = %s", live.pk)

    assert verification.verify().status == verification.TAMPERED


def test_deleted_decision_is_named_by_its_entry(story):
    tamper("DELETE FROM approvals_decision WHERE id = (SELECT min(id) FROM approvals_decision)")

    assert verification.verify().first_bad == seq_of("task.decided")


def test_changed_exhibit_is_noticed(story):
    tamper("UPDATE approvals_exhibit SET body = %s WHERE version = 1", b"{}")

    assert verification.verify().status == verification.TAMPERED


def test_exhibit_that_nobody_told_of_is_noticed(story):
    story.exhibits.create(
        version=9, body="{}", digest=chain.hashlib.sha256(b"{}").hexdigest(), frozen_at=timezone.now()
    )

    assert verification.verify().status == verification.TAMPERED


def test_state_that_no_verb_makes_is_noticed(story):
    story.case.tasks.filter(pk=story.pk).update(state="open")

    assert verification.verify().status == verification.TAMPERED


def test_answer_that_nobody_gave_is_noticed(story):
    """Settled by hand, without a decision."""
    reviewing.withdraw(story.case, because="superseded", now=timezone.now())
    assert verification.verify().status == verification.GOOD

    story.decisions.live().update(voided_at=timezone.now())
    type(story.case).objects.update(state="settled", ended_because="")
    story.case.tasks.update(state="settled")
    assert "is settled without a decision." in " ".join(f.sentence for f in verification.verify().findings)


def test_expired_case_that_an_operator_closed_is_good(alice, olga, open_case):
    case = open_case(2, deadline=in_seconds(60))
    decide(case.tasks.get(position=0), alice)
    reviewing.take_expired(case, by=olga, reason="the agent waits", now=in_seconds(60))

    assert verification.verify().findings == []


def test_dropped_guard_is_noticed(story):
    on = " ON approvals_auditentry" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER approvals_auditentry_delete{on}")

    report = verification.verify()
    assert (report.status, len(report.findings)) == (verification.TAMPERED, 1)


def test_content_gone_without_an_erasing_entry_is_incomplete(story):
    AuditEntry.objects.filter(seq=2).update(sentence=None, sentence_salt=None)

    report = verification.verify()
    assert (report.status, report.first_bad) == (verification.INCOMPLETE, None)


def test_checks_of_others_count(story):
    finding = verification.Finding("tampered", "The sealed bytes were changed.")

    assert verification.verify(checks=[lambda _since: [finding]]).findings == [finding]

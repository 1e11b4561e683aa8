"""One entry a deed, chained, committed, and guarded by the database itself."""

from __future__ import annotations

import hashlib
import json

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from approvals import acting, audit, guards
from approvals.models import AuditEntry, AuditLog
from approvals.trail import chain
from tests.people import decide

NOW = timezone.now()


def record(sentence: str = "Something was changed.", **more: object) -> AuditEntry:
    return audit.record("queue.changed", sentence, **{"now": NOW, **more})


def test_entries_hang_together(db):
    first, second = record(), record()

    assert (first.seq, json.loads(first.body)["prev"]) == (1, "0" * 64)
    assert json.loads(second.body)["prev"] == first.leaf_hash
    assert second.leaf_hash == hashlib.sha256(b"\x00" + bytes(second.body)).hexdigest()
    assert json.loads(second.body)["log"] == AuditLog.objects.get().origin


def test_two_entries_of_one_deed_hang_together_and_the_end_is_asked_for_once(db, django_assert_num_queries):
    record()
    with transaction.atomic(), django_assert_num_queries(4 if connection.vendor == "postgresql" else 3):
        first = record()
        second = record(after=first)
    assert json.loads(second.body)["prev"] == first.leaf_hash
    assert [second.seq, record().seq] == [3, 4]


def test_nothing_is_put_between_entries(db):
    first, _second = record(), record()
    with pytest.raises(DatabaseError), transaction.atomic():
        record(after=first)


def test_body_holds_commitments_and_a_pseudonym_only(alice, task):
    entry = record("alice did it", actor=alice, task=task, data={"secret": "to Zürich"})

    body = json.loads(entry.body)
    assert body["actor"] == {"kind": "person", "id": alice.pseudonym, "auth": None, "session": None}
    assert (body["case"], body["task"], body["type"]) == (task.case.code, task.code, "queue.changed")
    expected = b"countersign/commit/v1\x00data\x00" + entry.data_salt + '{"secret":"to Zürich"}'.encode()
    assert body["commit"]["data"] == hashlib.sha256(expected).hexdigest()
    assert "Zürich" not in entry.body.decode()  # a word that no digest, code or time can hold by chance


def test_body_is_rfc_8785(db):
    members = chain.read_body(record("é \u2028").body)

    assert chain.write_body(members) == AuditEntry.objects.get().body


@pytest.mark.parametrize("change", [(b'"v":1', b'"v": 1'), (b'"v":1', b'"v":2'), (b'{"', b'{"x":1,"'), (b"{", b"[")])
def test_other_bytes_are_no_body(db, change):
    with pytest.raises(chain.NotCanonical):
        chain.read_body(record().body.replace(*change, 1))


def test_hostile_text_is_kept_and_searchable(db):
    entry = record("nul \x00 and \ud800 surrogate", data={"text": "\ud800"})

    entry.refresh_from_db()
    assert entry.sentence == "nul \x00 and \ud800 surrogate"
    assert entry.data == '{"text":"\\ud800"}'
    assert "nul   and   surrogate" in entry.search_text


def test_system_has_no_actor_and_a_service_is_shown_as_such(alice):
    alice.is_service = True

    assert json.loads(record().body)["actor"] is None
    assert json.loads(record(actor=alice).body)["actor"]["kind"] == "service"
    assert json.loads(record(actor_kind="agent").body)["actor"]["kind"] == "agent"


def test_means_of_the_person_are_kept(alice):
    with acting.by("pwd", session="5" * 64):
        entry = record(actor=alice)

    assert json.loads(entry.body)["actor"]["auth"] == ["pwd"]
    assert json.loads(entry.body)["actor"]["session"] == "5" * 64
    assert json.loads(record(actor=alice).body)["actor"]["auth"] is None


def test_unknown_verb_is_refused(db):
    with pytest.raises(ValueError, match=r"task\.exploded"):
        audit.record("task.exploded", "boom", now=NOW)


def test_no_entry_without_the_deed(alice, task):
    class Undone(Exception):
        pass

    before = AuditEntry.objects.count()
    with pytest.raises(Undone), transaction.atomic():
        decide(task, alice)
        raise Undone
    assert AuditEntry.objects.count() == before


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE approvals_auditentry SET verb = 'x'",
        "UPDATE approvals_auditentry SET sentence = NULL",
        "UPDATE approvals_auditentry SET data_salt = NULL",
        "UPDATE approvals_auditentry SET search_text = 'x'",
        "DELETE FROM approvals_auditentry",
        "UPDATE approvals_auditlog SET origin = 'x'",
        "UPDATE approvals_exhibit SET digest = 'x'",
        "DELETE FROM approvals_exhibit",
        "UPDATE approvals_decision SET verdict = 'rejected'",
        "UPDATE approvals_decision SET recalled_at = at",
        "DELETE FROM approvals_decision",
    ],
)
def test_database_refuses(alice, task, sql):
    decision = decide(task, alice)
    type(decision).objects.update(recalled_at=NOW)

    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


def test_replacing_an_entry_is_refused(db):
    record()
    verb = "INSERT OR REPLACE" if connection.vendor == "sqlite" else "TRUNCATE approvals_auditentry; INSERT"
    sql = f"{verb} INTO approvals_auditentry SELECT * FROM approvals_auditentry"

    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


def test_side_column_is_erased_with_its_salt(db):
    record()
    erased = AuditEntry.objects.update(sentence=None, sentence_salt=None, search_text=None)

    assert erased == 1


def test_every_guard_stands_after_all_migrations(db):
    assert guards.missing(guards.GUARDS, connection) == []

"""People, queues and tokens from the shell; the trail checked and carried away from there."""

from __future__ import annotations

import io
import json
import sys
import zipfile

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from approvals import tokens
from approvals.models import AuditEntry, Queue, User
from tests.emptying import guards_off
from tests.people import decide, in_seconds


def run(*words: str, given: str = "", monkeypatch: pytest.MonkeyPatch | None = None) -> str:
    if monkeypatch:
        monkeypatch.setattr(sys, "stdin", io.StringIO(given))
    out = io.StringIO()
    call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


def test_person_is_added_with_queues_and_password(db, monkeypatch):
    words = ("add_user", "alice", "--role", "reviewer", "--queue", "payments", "--queue", "travel", "--password-stdin")
    run(*words, given="long enough to keep\n", monkeypatch=monkeypatch)

    alice = User.objects.get(username="alice")
    assert (alice.role, sorted(alice.queues.values_list("name", flat=True))) == ("reviewer", ["payments", "travel"])
    assert alice.check_password("long enough to keep")
    assert AuditEntry.objects.filter(verb="user.changed").count() == 1


def test_same_name_again_replaces_role_and_queues_and_keeps_the_password(alice):
    password = alice.password
    run("add_user", "alice", "--role", "auditor")

    alice = User.objects.get(username="alice")
    assert (alice.role, alice.queues.count(), alice.password) == ("auditor", 0, password)


def test_what_somebody_may_do_is_an_entry_of_its_own_whenever_it_changes(alice):
    run("add_user", "alice", "--role", "reviewer", "--queue", "payments")
    assert not AuditEntry.objects.filter(verb="role.changed").exists()

    run("add_user", "alice", "--role", "operator")
    entry = AuditEntry.objects.get(verb="role.changed")
    assert entry.sentence == "alice was reviewer in payments, and is operator now."
    told = json.loads(entry.data)
    assert (told["pseudonym"], told["to"]["role"]) == (alice.pseudonym, "operator")


def test_weak_password_is_refused(db, monkeypatch):
    with pytest.raises(CommandError, match="short"):
        run("add_user", "al", "--role", "admin", "--password-stdin", given="abc\n", monkeypatch=monkeypatch)
    assert not User.objects.exists()


def test_service_person_has_a_token_and_no_password(db):
    run("add_user", "robot", "--role", "reviewer", "--service")
    token = json.loads(run("add_token", "robot"))["token"]

    robot = User.objects.get(username="robot")
    assert (robot.is_service, robot.has_usable_password()) == (True, False)
    assert tokens.owner(token, now=in_seconds(0)) == robot
    assert token not in "".join(AuditEntry.objects.values_list("sentence", flat=True))


def test_token_for_nobody_is_refused(db):
    with pytest.raises(CommandError, match="nobody"):
        run("add_token", "nobody")


def test_queue_again_changes_its_risk(db):
    run("add_queue", "payments")
    assert Queue.objects.get().risk == "medium"

    run("add_queue", "payments", "--risk", "high")
    run("add_queue", "payments")
    assert Queue.objects.get().risk == "high"
    assert AuditEntry.objects.filter(verb="queue.changed").count() == 2


def exit_code(*words: str) -> int:
    try:
        run(*words)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_verify_says_good_and_names_the_head(alice, task):
    decide(task, alice)

    report = json.loads(run("verify_audit", "--json"))
    assert (report["result"], report["findings"]) == ("good", [])
    assert report["head"] == AuditEntry.objects.order_by("-seq")[0].leaf_hash
    assert "No anchor" in report["notes"][0]


def test_verify_exits_with_what_it_found(alice, task):
    AuditEntry.objects.filter(seq=1).update(sentence=None, sentence_salt=None)
    assert exit_code("verify_audit") == 3

    with guards_off():
        AuditEntry.objects.filter(seq=2).update(verb="case.settled")
    assert exit_code("verify_audit") == 1


@pytest.fixture
def bundle(alice, task, tmp_path):
    decide(task, alice)
    path = tmp_path / "bundle.zip"
    run("export_audit", "--out", str(path))
    return path


def test_bundle_is_good_without_the_desk(bundle):
    with guards_off(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM approvals_auditentry")

    report = json.loads(run("verify_audit", "--json", "--bundle", str(bundle)))
    assert (report["result"], report["entries"]) == ("good", 8)  # two keys were published


def test_export_is_in_the_trail_and_the_same_twice(bundle, tmp_path):
    again = tmp_path / "again.zip"
    run("export_audit", "--out", str(again), "--verb", "task.decided")
    run("export_audit", "--out", str(tmp_path / "third.zip"), "--verb", "task.decided")

    assert zipfile.ZipFile(again).read("entries.jsonl") == zipfile.ZipFile(tmp_path / "third.zip").read("entries.jsonl")
    assert AuditEntry.objects.filter(verb="export.made").count() == 3


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (("--verb", "task.decided"), 1),
        (("--actor", "alice"), 1),
        (("--agent", "payer"), 4),
        (("--thread", "other"), 0),
        (("--until", "2020-01-01"), 0),
        (("--since", "2020-01-01T00:00:00Z"), 8),
    ],
)
def test_bundle_holds_exactly_the_filter(alice, task, tmp_path, words, count):
    decide(task, alice)
    out = tmp_path / "bundle.zip"

    assert run("export_audit", "--out", str(out), *words).startswith(f"{count} entries")
    assert exit_code("verify_audit", "--bundle", str(out)) == 0


def test_nothing_is_exported_of_entries_that_never_existed(task, tmp_path):
    with pytest.raises(CommandError, match="no entry is called"):
        run("export_audit", "--out", str(tmp_path / "bundle.zip"), "--verb", "task.decide")


def rewritten(bundle, change):
    """The same bundle with other lines, in the first format: without a tree and without signatures."""
    with zipfile.ZipFile(bundle) as old:
        members = {name: old.read(name) for name in ("entries.jsonl", "manifest.json")}
    members["manifest.json"] = json.dumps({**json.loads(members["manifest.json"]), "format": 1}).encode()
    lines = [json.loads(line) for line in members["entries.jsonl"].splitlines()]
    change(lines)
    members["entries.jsonl"] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    with zipfile.ZipFile(bundle, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda lines: lines[3].update(sentence="AAAA"), 1),
        (lambda lines: lines[3].update(body=lines[2]["body"]), 1),
        (lambda lines: None, 3),
        (lambda lines: lines.pop(), 3),
        (lambda lines: lines[3].update(sentence=None, sentenceSalt=None), 3),
        (lambda lines: lines[3].pop("refs"), 1),
    ],
)
def test_changed_bundle_of_the_first_format_is_noticed(bundle, change, code):
    rewritten(bundle, change)

    assert exit_code("verify_audit", "--bundle", str(bundle)) == code


def test_other_file_is_no_bundle(db, tmp_path):
    (tmp_path / "x").write_text("hello")

    assert exit_code("verify_audit", "--bundle", str(tmp_path / "x")) == 2
    assert exit_code("verify_audit", "--bundle", str(tmp_path / "missing")) == 2


def test_verifying_leaves_no_trace_unless_it_is_asked_to(alice, task):
    run("verify_audit")
    assert not AuditEntry.objects.filter(verb="verify.result").exists()

    run("verify_audit", "--record")
    entry = AuditEntry.objects.get(verb="verify.result")
    told = json.loads(entry.data)
    assert (told["result"], told["entries"], told["findings"]) == ("good", entry.seq - 1, {})
    assert exit_code("verify_audit", "--record", "--bundle", "x") == 2


def test_what_a_verification_found_can_be_put_on_the_trail(alice, task):
    AuditEntry.objects.filter(seq=1).update(sentence=None, sentence_salt=None)

    assert exit_code("verify_audit", "--record") == 3
    entry = AuditEntry.objects.get(verb="verify.result")
    assert entry.sentence == f"The trail was verified, {entry.seq - 1} entries: incomplete."


@pytest.mark.parametrize(
    "words",
    [("add_user", " ", "--role", "admin"), ("add_user", "ann", "--role", "admin", "--queue", ""), ("add_queue", "")],
)
def test_an_empty_variable_is_nobodys_name(db, words):
    with pytest.raises(CommandError, match=r"needs? a name"):
        call_command(*words)
    assert not User.objects.exists() and not Queue.objects.exists()

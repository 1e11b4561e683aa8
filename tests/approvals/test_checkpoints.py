"""Signed states of the trail, and the places outside that keep them."""

from __future__ import annotations

import base64
import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import audit, checks
from approvals.models import AuditEntry, Checkpoint
from approvals.refusals import Blocked
from approvals.trail import anchors, checkpoints, merkle, signednote, signing
from tests.emptying import guards_off
from tests.people import decide, only_task

pytestmark = pytest.mark.django_db(transaction=True)


def add(count: int) -> None:
    for n in range(count):
        audit.record("login.ok", f"The {n}th time.", now=timezone.now())


def leaves() -> list[bytes]:
    return [bytes.fromhex(e.leaf_hash) for e in AuditEntry.objects.order_by("seq")]


def reference(leaves: list[bytes]) -> bytes:
    """RFC 9162, section 2.1.1, word for word."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + reference(leaves[:k]) + reference(leaves[k:])).digest()


@pytest.fixture
def anchor(settings, tmp_path):
    settings.ANCHORS = [str(tmp_path / "anchor.jsonl")]
    anchors.forget()
    yield anchors.configured()[0]
    anchors.forget()


def test_the_root_is_that_of_the_standard():
    leaves, tree = [], merkle.Range()
    for n in range(70):
        assert tree.root() == reference(leaves)
        assert merkle.resumed(n, tree.to_hex()).root() == tree.root()
        leaves.append(hashlib.sha256(b"\x00" + bytes([n])).digest())
        tree.append(leaves[-1])


@pytest.mark.parametrize("cut", [(0, 0), (3, 17), (8, 16), (1, 33), (31, 33)])
def test_a_gap_is_filled_by_whole_subtrees(cut):
    leaves = [hashlib.sha256(bytes([n])).digest() for n in range(40)]
    gap, tree = merkle.Range(cut[0]), merkle.Range()
    for leaf in leaves[cut[0] : cut[1]]:
        gap.append(leaf)
    for leaf in leaves[: cut[0]]:
        tree.append(leaf)
    for height, digest in gap.nodes:
        tree.append(digest, height)
    for leaf in leaves[cut[1] :]:
        tree.append(leaf)
    assert tree.root() == reference(leaves)


def test_a_checkpoint_signs_all_entries_so_far():
    add(5)
    made = checkpoints.make(now=timezone.now())
    note = signednote.verify(made.note, checkpoints.public_keys())
    assert (note.size, note.root) == (made.size, reference(leaves()[: made.size]))
    assert note.more[0] == f"prev-head {leaves()[-1].hex()}"


def test_the_next_one_goes_on_from_it():
    add(5)
    checkpoints.make(now=timezone.now())
    assert checkpoints.make(now=timezone.now()) is None
    add(4)
    made = checkpoints.make(now=timezone.now())
    assert (made.size, made.root) == (len(leaves()), reference(leaves()).hex())


def test_it_is_due_after_some_time_or_many_entries(settings):
    settings.CHECKPOINT_ENTRIES = 10
    add(1)
    made = checkpoints.make(now=timezone.now())
    add(2)
    assert not checkpoints.is_due(now=made.made_at + timedelta(seconds=59))
    assert checkpoints.is_due(now=made.made_at + timedelta(seconds=60))
    add(8)
    assert checkpoints.is_due(now=made.made_at)


def test_a_body_that_was_changed_is_not_signed():
    add(3)
    checkpoints.make(now=timezone.now())
    add(3)
    bad = AuditEntry.objects.order_by("-seq")[1]
    with guards_off():
        AuditEntry.objects.filter(pk=bad.pk).update(body=bytes(bad.body).replace(b"login.ok", b"login.no"))
    anchors.tend(now=timezone.now(), force=True)
    anchors.tend(now=timezone.now(), force=True)
    assert Checkpoint.objects.count() == 1
    assert AuditEntry.objects.filter(verb="checkpoint.refused").count() == 1


def test_anybody_can_check_a_note_with_the_published_key():
    add(1)
    made = checkpoints.make(now=timezone.now())
    name, _id, key = checkpoints.verifier_keys()[0].split("+")
    assert signednote.verify(made.note, [base64.b64decode(key)[1:]]).log == name
    with pytest.raises(signednote.Unreadable):
        signednote.verify(made.note.replace("\n4\n", "\n5\n").replace("\n3\n", "\n5\n"), [b"x" * 32])


def test_every_checkpoint_is_kept_by_the_anchor(anchor):
    add(2)
    anchors.tend(now=timezone.now(), force=True)
    add(2)
    anchors.tend(now=timezone.now(), force=True)
    assert [signednote.read(note).size for note in anchor.notes()] == [
        c.size for c in Checkpoint.objects.order_by("size")
    ]
    assert anchor.newest() == checkpoints.newest().note
    assert anchors.missing() == ""


def test_half_a_line_left_by_a_crash_is_passed_over(anchor):
    add(2)
    anchors.tend(now=timezone.now(), force=True)
    with anchor.path.open("a") as file:
        file.write('{"at": "2026')
    assert anchor.newest() == checkpoints.newest().note


def test_an_anchor_out_of_reach_is_told_once_and_holds_nobody_up(settings, tmp_path):
    settings.ANCHORS = [str(tmp_path / "nowhere" / "anchor.jsonl")]
    for _ in range(2):
        add(1)
        anchors.tend(now=timezone.now(), force=True)
    add(1)
    assert AuditEntry.objects.filter(verb="anchor.failed").count() == 1
    (tmp_path / "nowhere").mkdir()
    anchors.tend(now=timezone.now(), force=True)
    assert AuditEntry.objects.filter(verb="anchor.reached").count() == 1


@pytest.mark.parametrize("lost", range(1, 6))
def test_a_restored_backup_decides_nothing_and_names_what_is_missing(anchor, lost, open_case, alice):
    case = open_case()
    signing.publish(now=timezone.now())
    add(6)
    anchors.tend(now=timezone.now(), force=True)
    head = checkpoints.head_seq()
    with guards_off():
        AuditEntry.objects.filter(seq__gt=head - lost).delete()
        Checkpoint.objects.all().delete()
    anchors.forget()
    with pytest.raises(Blocked, match=f"entries {head - lost + 1} to {head} are"):
        decide(only_task(case), alice)


def test_a_trail_that_grew_otherwise_is_noticed(anchor):
    signing.publish(now=timezone.now())
    add(6)
    anchors.tend(now=timezone.now(), force=True)
    with guards_off():
        AuditEntry.objects.filter(seq__gt=3).delete()
        Checkpoint.objects.all().delete()
    add(9)
    assert "are not those that anchor" in anchors.missing()


def test_a_desk_without_an_anchor_says_so_to_those_who_can_change_it(olga, carol, client, settings):
    for person, told in ((olga, True), (carol, False)):
        client.force_login(person)
        assert ("Set ANCHORS." in client.get("/audit/").content.decode()) == told
    (info,) = checks.trail_is_anchored()
    assert (info.id, info.is_serious()) == ("approvals.I001", False)


def test_with_an_anchor_only_what_is_wrong_with_it_is_said(anchor, adam, client):
    anchors.tend(now=timezone.now(), force=True)
    client.force_login(adam)
    assert "ANCHORS" not in client.get("/audit/").content.decode() and checks.trail_is_anchored() == []

    anchor.path.unlink()
    anchor.path.mkdir()
    add(1)
    anchors.tend(now=timezone.now(), force=True)
    assert "cannot be reached" in client.get("/audit/").content.decode()


def test_what_is_missing_stands_on_the_audit_page(anchor, carol, client):
    add(6)
    anchors.tend(now=timezone.now(), force=True)
    with guards_off():
        AuditEntry.objects.filter(seq__gt=checkpoints.head_seq() - 2).delete()
        Checkpoint.objects.all().delete()
    anchors.forget()
    client.force_login(carol)
    assert "are missing. Nothing is decided or sent" in client.get("/audit/").content.decode()

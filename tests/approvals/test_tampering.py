"""Random tampering, by someone whom the database lets do everything: found, and named by the first bad entry (R-31).

`TAMPERS=500` for the long run.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from agentbridge.record import verifying
from approvals import reviewing
from approvals.models import AuditEntry, Checkpoint, Decision, Exhibit
from approvals.trail import anchors, chain, checkpoints, verification
from tests.emptying import guards_off
from tests.people import decide

pytestmark = pytest.mark.django_db(transaction=True)
TAMPERS = int(os.environ.get("TAMPERS", "60"))
SIDES = ("sentence", "refs", "data")


@pytest.fixture
def clean(alice, bob, open_case, settings, tmp_path):
    """A trail with decisions, two checkpoints and an anchor; good, and some entries after the last checkpoint."""
    settings.ANCHORS = [str(tmp_path / "anchor.jsonl")]
    settings.UNDO_SECONDS = 0
    for person in (alice, bob):
        first, second = open_case(2).tasks.order_by("position")
        decide(first, person, edits='{"to": "x"}')
        decide(second, person, "rejected", comment="no")
        reviewing.take(first.case, now=timezone.now() + timedelta(seconds=1))
        anchors.tend(now=timezone.now(), force=True)
    open_case()
    assert verification.verify().findings == []
    return checkpoints.head_seq()


def flipped(value: bytes | str, chance: random.Random) -> bytes | str:
    """One bit of it is another; text stays ASCII."""
    if isinstance(value, str):
        return flipped(value.encode(), chance).decode("latin-1")
    place = chance.randrange(len(value))
    return value[:place] + bytes([value[place] ^ 1 << chance.randrange(5)]) + value[place + 1 :]


def store(seq: int, **columns: object) -> None:
    AuditEntry.objects.filter(seq=seq).update(**columns)


def flip(field: str) -> Callable[[random.Random, int], int | None]:
    def tamper(chance: random.Random, head: int) -> int:
        entry = AuditEntry.objects.get(seq=chance.randint(1, head))
        store(entry.seq, **{field: flipped(getattr(entry, field), chance)})
        return entry.seq

    return tamper


def rewritten(seq: int, **members: object) -> None:
    """A forged body with its own hash."""
    told = chain.read_body(AuditEntry.objects.get(seq=seq).body)
    body = chain.write_body({**told, **members})
    store(seq, body=body, leaf_hash=chain.leaf_hash(body))


FORMS = (5, [], "x", {}, {"kind": {}}, True, "\ud800", None)


def other_form(chance: random.Random, head: int) -> int:
    """A member of another form than anybody reads."""
    seq, name = chance.randint(1, head), chance.choice(sorted(chain.MEMBERS - {"policy"}))
    members = chain.read_body(AuditEntry.objects.get(seq=seq).body)
    form = chance.choice([form for form in FORMS if form != members[name]])
    body = json.dumps({**members, name: form}, sort_keys=True, separators=(",", ":")).encode()
    store(seq, body=body, leaf_hash=chain.leaf_hash(body))
    return seq


def other_data(chance: random.Random, head: int) -> int:
    """What an entry tells of is replaced, and its commitment made to fit."""
    entry = chance.choice(AuditEntry.objects.exclude(task=None).exclude(data=None).order_by("seq"))
    data = chance.choice(["[]", "5", "{", '{"decision":{}}', '{"a":1,"a":2}', "[" * 100_000, '{"shownDigest":[]}'])
    members = chain.read_body(entry.body)
    commit = members["commit"] | {"data": chain.commitment("data", entry.data_salt, data.encode())}
    rewritten(entry.seq, commit=commit)
    store(entry.seq, data=data)
    return entry.seq


def other_prev(chance: random.Random, head: int) -> int:
    seq = chance.randint(1, head)
    rewritten(seq, prev=chance.randbytes(32).hex())
    return seq


def chain_rewritten(chance: random.Random, head: int) -> int:
    """Everything after it is made to fit: only signed roots tell, and not which entry between two of them it was."""
    seq = chance.randint(1, Checkpoint.objects.order_by("-size")[0].size)
    rewritten(seq, policy="forged")
    for later in range(seq + 1, head + 1):
        rewritten(later, prev=AuditEntry.objects.get(seq=later - 1).leaf_hash)
    before = Checkpoint.objects.filter(size__lt=seq).order_by("-size").first()
    return before.size + 1 if before else 1


def deleted(chance: random.Random, head: int) -> int:
    seq = chance.randint(1, head - 1)
    AuditEntry.objects.filter(seq=seq).delete()
    return seq


def swapped(chance: random.Random, head: int) -> int:
    seq = chance.randint(1, head - 1)
    one, other = AuditEntry.objects.get(seq=seq), AuditEntry.objects.get(seq=seq + 1)
    store(seq, body=other.body, leaf_hash="x" * 64)
    store(seq + 1, body=one.body, leaf_hash=one.leaf_hash)
    store(seq, leaf_hash=other.leaf_hash)
    return seq


def inserted(chance: random.Random, head: int) -> int:
    last = AuditEntry.objects.get(seq=head)
    body = chain.write_body({**chain.read_body(last.body), "seq": head + 1})
    AuditEntry(seq=head + 1, body=body, leaf_hash=chain.leaf_hash(body), at=last.at, verb=last.verb).save()
    return head + 1


def cut(chance: random.Random, head: int) -> int:
    """Whoever cuts takes the rows along that the entries tell of."""
    seq = chance.randint(0, Checkpoint.objects.order_by("-size")[0].size - 1)
    AuditEntry.objects.filter(seq__gt=seq).delete()
    return seq + 1


def rolled_back(chance: random.Random, head: int) -> int:
    seq = cut(chance, head)
    Checkpoint.objects.filter(size__gte=seq).delete()
    return seq


def other_checkpoint(field: str) -> Callable[[random.Random, int], None]:
    def tamper(chance: random.Random, head: int) -> None:
        row = chance.choice(Checkpoint.objects.order_by("size"))
        digits = flipped(getattr(row, field), chance)
        Checkpoint.objects.filter(pk=row.pk).update(**{field: digits})

    return tamper


def other_shown(chance: random.Random, head: int) -> None:
    row = chance.choice(Exhibit.objects.order_by("pk"))
    Exhibit.objects.filter(pk=row.pk).update(body=flipped(row.body, chance))


def other_answer(chance: random.Random, head: int) -> int:
    row = chance.choice(Decision.objects.exclude(answer=None).order_by("pk"))
    Decision.objects.filter(pk=row.pk).update(answer=row.answer.replace("approved", "approve"))
    return AuditEntry.objects.get(verb="task.decided", task=row.task).seq


def decision_gone(chance: random.Random, head: int) -> int:
    row = chance.choice(Decision.objects.order_by("pk"))
    row.delete()
    return AuditEntry.objects.get(verb="task.decided", task=row.task_id).seq


KINDS: dict[str, Callable[[random.Random, int], int | None]] = {
    **{field: flip(field) for field in ("body", "leaf_hash", *SIDES, *(f"{side}_salt" for side in SIDES))},
    **{f"checkpoint {field}": other_checkpoint(field) for field in ("note", "frontier")},
    "prev": other_prev, "chain": chain_rewritten, "delete": deleted, "swap": swapped, "insert": inserted, "cut": cut,
    "rollback": rolled_back, "form": other_form, "shown": other_shown, "answer": other_answer,
    "decision": decision_gone,
}  # fmt: skip


@pytest.mark.parametrize("n", range(TAMPERS))
def test_tampering_is_found_and_named(clean, n):
    kind = list(KINDS)[n % len(KINDS)]
    with transaction.atomic(), guards_off():
        expected = KINDS[kind](random.Random(n), clean)
    report = verification.verify()
    assert report.status == verification.TAMPERED, kind
    assert expected is None or report.first_bad == expected, (kind, report.findings)


def test_a_line_changed_in_the_anchor_is_noticed(clean, settings):
    anchor = anchors.configured()[0]
    anchor.path.write_bytes(anchor.path.read_bytes().replace(b"prev-head", b"prev-haed", 1))
    assert verification.verify().status == verification.TAMPERED
    anchor.path.write_bytes(b"{\n" + anchor.path.read_bytes())
    anchor.path.unlink()
    assert verification.verify().status == verification.INCOMPLETE


def test_only_what_came_after_a_checkpoint_is_read_again(clean):
    size = checkpoints.newest().size
    report = verification.verify(since=size)
    assert (report.findings, report.entries) == ([], clean - size)
    with transaction.atomic(), guards_off():
        store(1, leaf_hash="x")
        other_prev(random.Random(1), clean)
        store(clean, verb="case.taken")
    assert verification.verify(since=size).first_bad in (size + 1, clean)
    with pytest.raises(LookupError):
        verification.verify(since=size + 1)


@pytest.mark.parametrize("n", range(3))
def test_a_decision_without_an_entry_is_found(clean, n, alice):
    """R-37, the other way round: written by hand, past every verb."""
    row = Decision.objects.order_by("pk")[n]
    Decision.objects.filter(pk=row.pk).update(recalled_at=timezone.now())
    row.pk, row.recalled_at, row.at = None, None, timezone.now()
    row.save(force_insert=True)
    said = [finding.sentence for finding in verification.verify().findings]
    assert f"There is a decision on {row.task.code} that no entry tells of." in said


@pytest.mark.parametrize("n", range(8))
def test_no_form_of_an_entry_ends_the_search(clean, n):
    with transaction.atomic(), guards_off():
        seq = other_data(random.Random(n), clean)
    report = verification.verify(checks=[verifying.checks])
    assert report.status == verification.TAMPERED
    assert report.first_bad in (seq, seq + 1)  # a body with its own hash shows in the next one

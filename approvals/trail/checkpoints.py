"""Signed states of the trail, made by the worker: on time, after many entries, and when it stops (`audit.md` D.3).

What is signed is read and hashed again first: a body that no longer has its hash is never vouched for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction

from approvals.models import AuditEntry, AuditLog, Checkpoint, PublicKey
from approvals.trail import chain, merkle, signednote, signing

log = structlog.get_logger(__name__)


class Broken(Exception):
    """The trail is not what the last checkpoint signed and what follows from it; `seq` is the first bad entry."""

    def __init__(self, seq: int, sentence: str) -> None:
        super().__init__(sentence)
        self.seq = seq


def newest() -> Checkpoint | None:
    return Checkpoint.objects.order_by("-size").first()


def is_due(*, now: datetime) -> bool:
    """Has the trail grown by enough, or for long enough?"""
    last, head = newest(), head_seq()
    if last is None or head <= last.size:
        return last is None and head > 0
    waited = now - last.made_at >= timedelta(seconds=settings.CHECKPOINT_SECONDS)
    return waited or head - last.size >= settings.CHECKPOINT_ENTRIES


def make(*, now: datetime) -> Checkpoint | None:
    """Sign the trail as it is; None when nothing was added. Raises Broken."""
    pair = signing.signer(PublicKey.Purpose.CHECKPOINT, now=now)
    last, head = newest(), head_seq()
    size = last.size if last else 0
    if head < size:
        raise Broken(head + 1, f"The trail ends at entry {head}, and checkpoint {size} has seen more.")
    if head == size:
        return None
    tree, leaf = _grown(last, head)
    more = [f"prev-head {leaf}", f"time {chain.moment(now)}"]
    note = signednote.sign(log=origin(), size=head, root=tree.root(), more=more, key=pair.private)
    made = Checkpoint(size=head, root=tree.root().hex(), frontier=json.dumps(tree.to_hex()), note=note, made_at=now)
    try:
        with transaction.atomic():
            made.save(force_insert=True)
    except IntegrityError:  # another worker signed the same entries at the same moment
        return Checkpoint.objects.get(size=head)
    return made


def tree_of(checkpoint: Checkpoint) -> merkle.Range:
    """What is kept of the tree at a checkpoint. Raises Broken where that does not make its root."""
    try:
        tree = merkle.resumed(checkpoint.size, json.loads(checkpoint.frontier))
    except ValueError:
        tree = merkle.Range()
    if tree.root().hex() != checkpoint.root:
        raise Broken(checkpoint.size, f"Checkpoint {checkpoint.size} does not have the root that it signed.")
    return tree


def root_at(size: int) -> bytes | None:
    """The root of the first `size` entries as they are stored; None when there are fewer. Raises Broken."""
    before = Checkpoint.objects.filter(size__lte=size).order_by("-size").first()
    tree = tree_of(before) if before else merkle.Range()
    for leaf in _leaves(tree.end, size):
        tree.append(bytes.fromhex(leaf))
    return tree.root() if tree.end == size else None


def head_seq() -> int:
    return AuditEntry.objects.order_by("-seq").values_list("seq", flat=True).first() or 0


def origin() -> str:
    return AuditLog.objects.order_by("pk").values_list("origin", flat=True)[0]


def public_keys() -> list[bytes]:
    """Every key that ever signed checkpoints and was not stolen; those in use also where a backup lacks them."""
    ever = signing.ever(PublicKey.Purpose.CHECKPOINT).values()
    believed = [bytes(row.raw) for row in ever if row.revoked_at is None]
    return believed + list(signing.published(PublicKey.Purpose.CHECKPOINT).values())


def verifier_keys() -> list[str]:
    """The keys in use, as others write them down."""
    return [signednote.verifier_key(origin(), raw) for raw in signing.published(PublicKey.Purpose.CHECKPOINT).values()]


def _leaves(after: int, until: int) -> Iterator[str]:
    rows = AuditEntry.objects.filter(seq__gt=after, seq__lte=until).order_by("seq")
    return rows.values_list("leaf_hash", flat=True).iterator(chunk_size=5000)


def _grown(last: Checkpoint | None, head: int) -> tuple[merkle.Range, str]:
    """The tree up to `head`, every new body read and hashed again; and the hash of the last entry."""
    tree = tree_of(last) if last else merkle.Range()
    leaf = chain.NOTHING_BEFORE
    if last:
        leaf = AuditEntry.objects.filter(seq=last.size).values_list("leaf_hash", flat=True).first() or ""
    rows = AuditEntry.objects.filter(seq__gt=tree.end, seq__lte=head).order_by("seq")
    for seq, body, stored in rows.values_list("seq", "body", "leaf_hash").iterator(chunk_size=2000):
        if seq != tree.end + 1 or chain.leaf_hash(bytes(body)) != stored or _prev(bytes(body)) != leaf:
            raise Broken(seq, f"Entry {seq} is not what was written.")
        tree.append(bytes.fromhex(stored))
        leaf = stored
    if tree.end != head:
        raise Broken(tree.end + 1, f"Entry {tree.end + 1} is missing.")
    return tree, leaf


def _prev(body: bytes) -> str | None:
    try:
        return str(json.loads(body)["prev"])
    except (ValueError, KeyError, TypeError):
        return None

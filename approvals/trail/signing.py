"""The keys that sign: pairs derived from SIGNING_KEY, their public halves on record for ever, rotation without a gap.

A new key is published first and signs only KEY_LEAD_SECONDS later: by then every copy of the published list has it. A
key that leaves SIGNING_KEY is retired; what it signed still verifies. Called by whoever signs, and at the start of the
servers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.db import transaction

from approvals import audit, keys
from approvals.models import PublicKey

Purpose = PublicKey.Purpose
audit.register("key.created", "key.retired", "key.revoked")


class Unknown(LookupError):
    """No key of ours has this name."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One signing key for one purpose; `kid` follows from its public half."""

    kid: str
    private: Ed25519PrivateKey

    @property
    def raw(self) -> bytes:
        return self.private.public_key().public_bytes_raw()


def pairs(purpose: str) -> list[Pair]:
    """What SIGNING_KEY holds, newest first."""
    private = [Ed25519PrivateKey.from_private_bytes(seed) for seed in keys.derived(f"ed25519/{purpose}")]
    return [Pair(kid_of(purpose, key.public_key().public_bytes_raw()), key) for key in private]


def kid_of(purpose: str, raw: bytes) -> str:
    return f"{purpose[0]}-{hashlib.sha256(raw).hexdigest()[:16]}"


def publish(*, now: datetime) -> None:
    """Put on record which keys there are and which are gone; an entry for each change."""
    held = {pair.kid: (purpose, pair) for purpose in Purpose.values for pair in pairs(purpose)}
    known = dict(PublicKey.objects.values_list("kid", "retired_at"))
    if held.keys() == {kid for kid, retired_at in known.items() if retired_at is None}:
        return
    with transaction.atomic():
        audit.lock()  # before any row: whoever publishes in the same moment may hold the trail and want these rows
        for kid, (purpose, pair) in held.items():
            _publish(kid, purpose, pair.raw, now=now)
        gone = PublicKey.objects.filter(retired_at=None).exclude(kid__in=held)
        for kid in list(gone.order_by("pk").values_list("kid", flat=True)):
            if gone.filter(kid=kid).update(retired_at=now):
                audit.record("key.retired", f"Key {kid} signs nothing more.", data={"kid": kid}, now=now)


def _publish(kid: str, purpose: str, raw: bytes, *, now: datetime) -> None:
    row, new = PublicKey.objects.get_or_create(
        kid=kid, defaults={"purpose": purpose, "raw": raw, "published_at": now, "retired_at": None}
    )
    back = not new and bool(PublicKey.objects.filter(pk=row.pk).exclude(retired_at=None).update(retired_at=None))
    if new or back:
        data = {"kid": kid, "purpose": purpose, "key": raw.hex()}
        audit.record("key.created", f"Key {kid} was published: it signs {purpose}s.", data=data, now=now)


def signer(purpose: str, *, now: datetime) -> Pair:
    """The key that signs now: the newest that has been published long enough, else the one published first."""
    publish(now=now)
    rows = {row.kid: row for row in PublicKey.objects.filter(purpose=purpose, revoked_at=None)}
    held = [pair for pair in pairs(purpose) if pair.kid in rows]
    if not held:
        raise Unknown("Every key in SIGNING_KEY is revoked: put a new one first.")
    edge = now - timedelta(seconds=settings.KEY_LEAD_SECONDS)
    ripe = [pair for pair in held if rows[pair.kid].published_at <= edge]
    return ripe[0] if ripe else min(reversed(held), key=lambda pair: rows[pair.kid].published_at)


def published(purpose: str) -> dict[str, bytes]:
    """Keys that outsiders may believe now, by `kid`: those in use, and those that will be."""
    revoked = set(PublicKey.objects.exclude(revoked_at=None).values_list("kid", flat=True))
    return {pair.kid: pair.raw for pair in pairs(purpose) if pair.kid not in revoked}


def ever(purpose: str) -> dict[str, PublicKey]:
    """Every key there ever was, by `kid`; `revoked_at` says since when not to believe it."""
    return {row.kid: row for row in PublicKey.objects.filter(purpose=purpose).order_by("pk")}


@transaction.atomic
def revoke(kid: str, *, reason: str, now: datetime) -> None:
    """A key was stolen: it is published no more and signs nothing. Raises Unknown."""
    if not PublicKey.objects.filter(kid=kid, revoked_at=None).update(revoked_at=now):
        raise Unknown(f"No key that could be revoked is named {kid}.")
    data = {"kid": kid, "reason": reason}
    audit.record("key.revoked", f"Key {kid} was revoked: {reason}", data=data, now=now)

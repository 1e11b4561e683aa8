"""Personal Bearer tokens: made once, shown once, kept only as a SHA-256."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.db.models import Q

from approvals.models import ApiToken, User
from approvals.prepared import Prepared, slot

PREFIX = "csn_"  # lets a scanner of repositories and logs recognise a lost token
USE_NOTED_EVERY = timedelta(minutes=1)

good_token = Prepared(
    lambda: ApiToken.objects.select_related("user").filter(
        digest=slot("digest"), revoked_at__isnull=True, user__is_active=True
    )
)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def issue(user: User, *, now: datetime) -> str:
    """Make a new token for a person; the answer is the only time that anyone sees it."""
    token = PREFIX + secrets.token_urlsafe(32)
    ApiToken.objects.create(user=user, digest=digest(token), created_at=now)
    return token


def revoke_all(user: User, *, now: datetime) -> int:
    return ApiToken.objects.filter(user=user, revoked_at__isnull=True).update(revoked_at=now)


def owner(token: str, *, now: datetime) -> User | None:
    """The enabled person who holds this token, or None. Its use is noted at most once a minute."""
    found = good_token.first(digest=digest(token))
    if found is None:
        return None
    if found.last_used_at is None or now - found.last_used_at >= USE_NOTED_EVERY:
        unnoted = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - USE_NOTED_EVERY)
        ApiToken.objects.filter(unnoted, pk=found.pk).update(last_used_at=now)
    return found.user

"""How operations answer: exact JSON text, and the same answer again for the same `Idempotency-Key`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from approvals import acting, jsontext
from approvals.api.auth import person
from approvals.api.problems import bad_query, invalid
from approvals.api.stamps import key_of
from approvals.models import StoredAnswer
from approvals.schemas import Problem

LONGEST_KEY = 200
KEPT = timedelta(hours=24)


def answer(value: Any, status: int = 200) -> HttpResponse:
    """A JSON answer in which a `jsontext.Number` stands as it was written."""
    return HttpResponse(jsontext.dumps(value), status=status, content_type="application/json")


def idempotency_key(request: HttpRequest) -> str:
    key = request.headers.get("Idempotency-Key", "")
    if len(key) > LONGEST_KEY:
        raise bad_query(_("An Idempotency-Key has at most 200 characters."))
    return key


def once(request: HttpRequest, act: Callable[[], HttpResponse], *, now: datetime) -> HttpResponse:
    """Do a deed once per person, path and key. The answer is stored with the deed; a refusal stores nothing.

    Two requests with one key at a time: the unique row makes the second wait for the first, then read its answer.
    """
    key = idempotency_key(request)
    with acting.by("token"):
        if not key:
            return act()
        known = stored(request, key) or perform(request, key, act, now)
    if known.request_digest != digest_of(request):
        raise invalid(Problem("", _("This Idempotency-Key was used with another body.")), code="idempotency_mismatch")
    return HttpResponse(known.body, status=known.status, content_type="application/json")


def perform(request: HttpRequest, key: str, act: Callable[[], HttpResponse], now: datetime) -> StoredAnswer:
    try:
        with transaction.atomic():
            row = StoredAnswer.objects.create(
                user=person(request), path_key=key_of(request.path), key=key, request_digest=digest_of(request), at=now
            )
            done = act()
            row.status, row.body = done.status_code, done.content
            row.save(update_fields=["status", "body"])
            StoredAnswer.objects.filter(at__lt=now - KEPT).delete()
            return row
    except IntegrityError:
        # Only the row above can collide here while its winner is committed; anything else is a fault and stays one.
        winner = stored(request, key)
        if winner is None:
            raise
        return winner


def stored(request: HttpRequest, key: str) -> StoredAnswer | None:
    return StoredAnswer.objects.filter(user=person(request), path_key=key_of(request.path), key=key).first()


def digest_of(request: HttpRequest) -> str:
    return hashlib.sha256(request.body).hexdigest()

"""What agents pin: who we are, our public keys, and the newest signed state of the trail. Open to everybody."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from agentbridge.delivery import receipts
from agentbridge.wire import signature
from approvals.models import AuditLog
from approvals.trail import chain, checkpoints, signing

FRESH = "public, max-age=3600"


@require_safe
def about(request: HttpRequest) -> JsonResponse:
    return _published(
        {
            "issuer": settings.PUBLIC_URL,
            "jwks_uri": settings.PUBLIC_URL + reverse("jwks"),
            "jwks_archive_uri": settings.PUBLIC_URL + reverse("jwks-archive"),
            "checkpoint_uri": settings.PUBLIC_URL + reverse("checkpoint"),
            "log": AuditLog.objects.order_by("pk").values_list("origin", flat=True).first(),
            "log_keys": checkpoints.verifier_keys(),
            "statement_versions": [signature.VERSION],
            "algorithms": ["Ed25519", "EdDSA"],
            "entry_versions": [chain.VERSION],
        }
    )


@require_safe
def jwks(request: HttpRequest) -> JsonResponse:
    """The keys that sign decisions, or will: agents look here again at most once an hour."""
    keys = receipts.public_keys(signing.published(signing.Purpose.DECISION))
    return _published({"keys": [key.to_jwk() for key in keys.values()]})


@require_safe
def archive(request: HttpRequest) -> JsonResponse:
    """Every key there ever was, so that what was signed years ago can still be read."""
    told: list[dict[str, Any]] = []
    for kid, row in signing.ever(signing.Purpose.DECISION).items():
        times = {"publishedAt": row.published_at, "retiredAt": row.retired_at, "revokedAt": row.revoked_at}
        said = {name: chain.moment(at) for name, at in times.items() if at is not None}
        told += [{**key.to_jwk(), **said} for key in receipts.public_keys({kid: bytes(row.raw)}).values()]
    return _published({"keys": told})


@require_safe
def checkpoint(request: HttpRequest) -> HttpResponse:
    """The newest signed state of the trail, to be kept somewhere else."""
    newest = checkpoints.newest()
    if newest is None:
        return HttpResponse("There is no checkpoint yet.\n", status=404, content_type="text/plain; charset=utf-8")
    return HttpResponse(newest.note, content_type="text/plain; charset=utf-8", headers={"Cache-Control": "no-cache"})


def _published(told: dict[str, Any]) -> JsonResponse:
    return JsonResponse(told, headers={"Cache-Control": FRESH, "Access-Control-Allow-Origin": "*"})

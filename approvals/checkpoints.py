"""Signed states of the trail."""

from __future__ import annotations

from approvals.models import Checkpoint


def newest() -> Checkpoint | None:
    return Checkpoint.objects.order_by("-size").first()


def verifier_keys() -> list[str]:
    return []

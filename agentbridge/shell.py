"""What the frame of every page shows of deliveries. A context processor."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from agentbridge import visibility
from agentbridge.models.delivery import WAITING
from approvals import permissions
from approvals.models import User

COUNTED = 99


def shell(request: HttpRequest) -> dict[str, Any]:
    """Lazy, and asked once: fragments that show no frame pay no query."""
    user = getattr(request, "user", None)
    if user is None or permissions.role_of(user) is None:
        return {}
    return {"waiting_deliveries": SimpleLazyObject(lambda: waiting(user))}


def waiting(user: User) -> int:
    """How many deliveries wait for a person, counted no further than a person reads."""
    found = visibility.deliveries(user).filter(state__in=WAITING, replaced_at__isnull=True)
    return found.order_by()[:COUNTED].count()

"""What the frame of every page shows of deliveries, and a case of its agent. A context processor."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from agentbridge.delivery import ledger
from agentbridge.models import Agent
from agentbridge.models.agents import ReplayClass
from approvals import permissions
from approvals.models import User

COUNTED = 1_000


def shell(request: HttpRequest) -> dict[str, Any]:
    """Lazy, and asked once: fragments that show no frame pay no query."""
    user = getattr(request, "user", None)
    if user is None or permissions.role_of(user) is None:
        return {}
    return {
        "waiting_deliveries": SimpleLazyObject(lambda: waiting(user)),
        "replay_classes": SimpleLazyObject(replay_classes),
    }


def replay_classes() -> dict[str, ReplayClass]:
    return {slug: ReplayClass(value) for slug, value in Agent.objects.values_list("slug", "replay_class")}


def waiting(user: User) -> int:
    """How many cases go nowhere without an operator, as `/deliveries/` shows them; no further than a person reads."""
    found = ledger.waiting(permissions.visible_cases(user), timezone.now())
    return found.order_by()[:COUNTED].count()

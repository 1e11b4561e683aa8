"""What the frame of every page shows: where one is, who one is, how much is open. A context processor."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from approvals import permissions, waiting
from approvals.desk import shortcuts
from approvals.models import User
from approvals.models.people import Role


def shell(request: HttpRequest) -> dict[str, Any]:
    """Lazy: fragments and pages that count for themselves pay no query."""
    now = timezone.now()
    user = getattr(request, "user", AnonymousUser())
    role = permissions.role_of(user)
    return {
        "now": now,
        "section": request.path.strip("/").partition("/")[0],
        "role": role.label if role else "",
        "looks_after_people": role == Role.ADMIN,
        "keys_on": isinstance(user, User) and user.keys_on,
        "shortcuts": SimpleLazyObject(lambda: shortcuts.of(user)) if isinstance(user, User) else (),
        "open_count": SimpleLazyObject(lambda: waiting.count(user, now=now))
        if isinstance(user, User) and role
        else None,
    }

"""Who was refused at a door is on the trail: pages and operations that a person knows of and may not use (403).

What somebody may not even see is 404, and tells nobody anything. A request that another site made (CSRF) is not the
person's. Refused decisions tell more than this, in `attempts`, and are not told twice.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from approvals import acting, audit, jsontext
from approvals.models import AuditEntry, User

audit.register("access.refused")

TELL_AGAIN = timedelta(hours=1)  # whoever tries the same door again and again is told of so often


class RememberRefusals:
    """Middleware, after those that say who asks."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = timezone.now()
        response = self.get_response(request)
        if response.status_code == 403 and hasattr(request, "door") and isinstance(request.user, User):
            door = {"method": request.method, **request.door}
            with acting.by("token") if "Authorization" in request.headers else nullcontext():
                _tell(request.user, door, began, now=timezone.now())
        return response

    def process_view(self, request: Any, _view: Any, _args: Any, kwargs: dict[str, Any]) -> None:
        """Reached only by requests that passed the check for other sites."""
        request.door = {"route": request.resolver_match.route, "at": {name: str(kwargs[name]) for name in kwargs}}


def _tell(user: User, door: dict[str, Any], began: datetime, *, now: datetime) -> None:
    mine, data = AuditEntry.objects.filter(actor=user), jsontext.dumps(door)
    if mine.filter(verb="access.refused", data=data, at__gt=now - TELL_AGAIN).exists():
        return
    if mine.filter(verb__in=("task.refused", "case.refused"), at__gte=began).exists():
        return
    said = f"{user.display_name} was refused at {door['method']} /{door['route']}: it is not theirs to do."
    audit.record("access.refused", said, actor=user, refs={}, data=door, now=now)

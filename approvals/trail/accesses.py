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


def remember_refusals(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware, after those that say who asks."""

    def middleware(request: HttpRequest) -> HttpResponse:
        began = timezone.now()
        response = get_response(request)
        if response.status_code == 403 and isinstance(request.user, User) and _is_their_own(request):
            with acting.by("token") if "Authorization" in request.headers else nullcontext():
                _tell(request.user, _door(request), began, now=timezone.now())
        return response

    return middleware


def _is_their_own(request: HttpRequest) -> bool:
    """Did it pass the check for other sites? A hook of ours before each view would cost a thread's turn there."""
    view = request.resolver_match and request.resolver_match.func
    return getattr(request, "csrf_processing_done", False) or getattr(view, "csrf_exempt", False)


def _door(request: HttpRequest) -> dict[str, Any]:
    match = request.resolver_match
    places = {name: str(value) for name, value in match.kwargs.items()} if match else {}
    return {"method": request.method, "route": match.route if match else "", "at": places}


def _tell(user: User, door: dict[str, Any], began: datetime, *, now: datetime) -> None:
    mine, data = AuditEntry.objects.filter(actor=user), jsontext.dumps(door)
    if mine.filter(verb="access.refused", data=data, at__gt=now - TELL_AGAIN).exists():
        return
    if mine.filter(verb__in=("task.refused", "case.refused"), at__gte=began).exists():
        return
    said = f"{user.display_name} was refused at {door['method']} /{door['route']}: it is not theirs to do."
    audit.record("access.refused", said, actor=user, refs={}, data=door, now=now)

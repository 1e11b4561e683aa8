"""Times in the zone of whoever reads them; the trail and the API stay in UTC."""

from __future__ import annotations

from collections.abc import Callable
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from approvals.models import User

OURS = "UTC"


def known() -> list[str]:
    """Names that a person can choose: places, and UTC."""
    return [OURS, *sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/"))]


def of(user: User) -> ZoneInfo:
    """A zone that this machine does not know any more falls back to ours."""
    return ZoneInfo(user.time_zone if user.time_zone in available_timezones() else OURS)


def in_their_zone(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware, after the one that knows who asks."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path.startswith("/api/"):  # whose session it is, is nothing to it and costs two questions
            return get_response(request)
        if not isinstance(request.user, User) or request.user.time_zone == OURS:
            return get_response(request)
        with timezone.override(of(request.user)):
            return get_response(request)

    return middleware

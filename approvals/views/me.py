"""How the desk is set up for the person who sits at it: keys, time zone, language, notices. And who mentioned them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.timezone import now as current
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.http import require_http_methods

from approvals.desk import shortcuts, zones
from approvals.models import User
from approvals.requests import PersonRequest
from approvals.schemas import Problem
from approvals.verbs import notes

LANGUAGES = [("", ""), *settings.LANGUAGES]


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def me(request: PersonRequest) -> HttpResponse:
    if request.method != "POST":
        return drawn(request)
    keys, problems = shortcuts.chosen(request.POST)
    wanted = {
        "time_zone": request.POST.get("time_zone", zones.OURS), "language": request.POST.get("language", ""),
        "keys_on": request.POST.get("keys_on") == "1", "wants_notices": request.POST.get("wants_notices") == "1",
        "keys": keys,
    }  # fmt: skip
    if wanted["time_zone"] not in zones.known():
        problems.append(Problem("time_zone", _("There is no such time zone.")))
    if wanted["language"] not in dict(LANGUAGES):
        problems.append(Problem("language", _("There is no such language here.")))
    if problems:
        return drawn(request, problems)
    User.objects.filter(pk=request.user.pk).update(**wanted)
    with override(str(wanted["language"]) or None):
        messages.success(request, _("Your desk is set up."))
    return speaking(HttpResponseRedirect(reverse("me"), status=303), str(wanted["language"]))


def drawn(request: PersonRequest, problems: list[Problem] | None = None) -> HttpResponse:
    """With problems: as posted, each beside its field."""
    said = {problem.pointer: problem.message for problem in problems or []}
    user = request.user
    chosen = {
        "time_zone": user.time_zone, "language": user.language, "keys_on": user.keys_on,
        "wants_notices": user.wants_notices, **(request.POST.dict() if problems else {}),
    }  # fmt: skip
    context = {
        "now": current(), "chosen": chosen, "said": said, "problems": problems or [], "zones": zones.known(),
        "languages": LANGUAGES, "places": places(request, said), "mentions": notes.unread(user)[:50],
    }  # fmt: skip
    return render(request, "approvals/me.html", context, status=422 if problems else 200)


def places(request: PersonRequest, said: dict[str, str]) -> list[dict[str, Any]]:
    """The keys, grouped by where they work."""
    bound = [
        {
            "action": one, "place": one.place, "key": request.POST.get(f"key-{one.name}", one.key),
            "said": said.get(f"key-{one.name}", ""),
        }
        for one in shortcuts.of(request.user)
    ]  # fmt: skip
    return [
        {"name": str(place), "keys": [row for row in bound if row["place"] == str(place)]}
        for place in shortcuts.PLACES
    ]


def speaking(response: HttpResponse, language: str) -> HttpResponse:
    """The person's language goes with them to this device; none chosen: as the browser asks."""
    name = settings.LANGUAGE_COOKIE_NAME
    if not language:
        response.delete_cookie(name)
        return response
    response.set_cookie(
        name, language, samesite="Lax", secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
    )  # fmt: skip
    return response

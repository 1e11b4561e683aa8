"""What somebody sees whose session ended or is another one by now, and where an address that only takes deeds leads.

A deed cannot be repeated by a link, so signing in leads back to the page it stood on. A page that only renews a part of
itself stays as it is, with what was typed, and says why nothing more comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.requests import PersonRequest
from approvals.views.courtesies import back_of, page_of_ours

Answer = Callable[[HttpRequest], HttpResponse]
SAFE = ("GET", "HEAD", "OPTIONS")
BESIDE = {"HX-Retarget": "#messages", "HX-Reswap": "outerHTML"}  # not where the answer was waited for


def lead_back(get_response: Answer) -> Answer:
    """Middleware, around the one that knows htmx and inside those that know the person and keep messages."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if response.status_code == 302 and response["Location"].startswith(f"{settings.LOGIN_URL}?"):
            return _signed_out(cast(PersonRequest, request), response)
        if response.status_code == 405 and "text/html" in request.headers.get("Accept", ""):
            return _drawn(request, "405.html", 405, {"Allow": response["Allow"]})
        return response

    return middleware


def other_session(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django calls it for a form whose token is not this session's: signed in anew in another window, or no cookies."""
    if request.headers.get("HX-Request") == "true":
        return _drawn(request, "_other_session.html", 403, BESIDE)
    return _drawn(request, "403_csrf.html", 403, back=back_of(cast(PersonRequest, request)))


def not_understood(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's own reads the form once more for its token: what cannot be read would then be a fault of ours."""
    return HttpResponseBadRequest(render_to_string("400.html"))


def _signed_out(request: PersonRequest, response: HttpResponse) -> HttpResponse:
    if request.htmx:
        page = page_of_ours(request, request.htmx.current_url or "") or reverse("queue")
        return _drawn(request, "_signed_out.html", 401, BESIDE, sign_in=_sign_in(page))
    if request.method in SAFE:
        return response
    messages.warning(request, _("Your session had ended, so nothing was done. Do it again."))
    return HttpResponseRedirect(_sign_in(back_of(request)))


def _drawn(
    request: HttpRequest, template: str, status: int, headers: Mapping[str, str] | None = None, **context: str
) -> HttpResponse:
    return HttpResponse(render_to_string(template, context, request), status=status, headers=headers)


def _sign_in(page: str) -> str:
    return f"{settings.LOGIN_URL}?{urlencode({'next': page})}"

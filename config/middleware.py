"""Headers on every answer, refusal of other sites' requests, and one log line per request."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

Answer = Callable[[HttpRequest], HttpResponse]

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
PERMISSIONS = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"

PROBES = ("healthz", "readyz", "metrics")  # asked every few seconds, and they say the same each time

log = structlog.get_logger("countersign.http")


def harden(get_response: Answer) -> Answer:
    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        # Everything but static files (which say otherwise themselves) is about somebody's work.
        response.headers.setdefault("Cache-Control", "no-store")
        if settings.HTTPS:
            # SecurityMiddleware sets it only on requests that arrive over TLS; behind a proxy none do.
            response.headers["Strict-Transport-Security"] = f"max-age={settings.HSTS_SECONDS}; includeSubDomains"
        return response

    return middleware


def refuse_other_sites(get_response: Answer) -> Answer:
    """Beside the CSRF token: browsers say where an unsafe request comes from, and it must come from our own pages."""

    def middleware(request: HttpRequest) -> HttpResponse:
        came_from = request.headers.get("Sec-Fetch-Site", "same-origin")
        by_cookie = "Authorization" not in request.headers
        if request.method not in SAFE_METHODS and by_cookie and came_from not in ("same-origin", "none"):
            return HttpResponse(_("This request came from another site."), status=403, content_type="text/plain")
        return get_response(request)

    return middleware


def log_requests(get_response: Answer) -> Answer:
    """Names the route, never the path, the query or a body: ids and search words are content."""

    def middleware(request: HttpRequest) -> HttpResponse:
        began = time.monotonic()
        response = get_response(request)
        match = request.resolver_match
        if not match or match.route not in PROBES:
            log_request(request, match.route if match else "", response, began)
        return response

    return middleware


def log_request(request: HttpRequest, route: str, response: HttpResponseBase, began: float) -> None:
    """`began`: on the process's steady clock."""
    ms = round((time.monotonic() - began) * 1000)
    log.info("request", method=request.method, route=route, status=response.status_code, ms=ms)

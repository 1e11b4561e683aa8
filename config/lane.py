"""A lane of its own for the relay: `POST /agui/<slug>`, from the server to the view without what stands before pages.

Sessions, forms and messages mean nothing to a program with a token, and each request would pay for them with two
milliseconds and a thread that it keeps as long as it streams. Headers, hosts and the log line are those of all.
"""

from __future__ import annotations

import asyncio
import io
import re
import time
from functools import cache

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.core.handlers.exception import response_for_exception
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.module_loading import import_string

from agentbridge.views import ways
from config import middleware
from config.limits import Receive, Scope, Send

PLACE = re.compile(r"/agui/([-a-zA-Z0-9_]+)")
ROUTE = "agui/<slug:slug>"
HEADERS_BY = (
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "config.middleware.harden",
    "django.middleware.security.SecurityMiddleware",
)


class Lane:
    """ASGI application: what it does not know is Django's."""

    def __init__(self, django: ASGIHandler) -> None:
        self.django = django

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        place = PLACE.fullmatch(scope["path"]) if scope["method"] == "POST" and not scope.get("root_path") else None
        if place is None:
            await self.django(scope, receive, send)
        elif (body := await whole(receive)) is not None:
            await self._relay(ASGIRequest(scope, io.BytesIO(body)), place[1], receive, send)

    async def _relay(self, request: ASGIRequest, slug: str, receive: Receive, send: Send) -> None:
        """As long as the caller listens: one who goes away ends this, and never the recording."""
        work = asyncio.current_task()
        gone = asyncio.create_task(left(receive))
        gone.add_done_callback(lambda told: told.cancelled() or work is None or work.cancel())
        try:
            await self.django.send_response(await answered(request, slug), send)
        except asyncio.CancelledError:
            if not gone.done() or gone.cancelled():
                raise
        finally:
            gone.cancel()


async def whole(receive: Receive) -> bytes | None:
    """The body; None when the caller went away, or was sent away, before its end."""
    parts = []
    while (message := await receive())["type"] == "http.request":
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)
    return None


async def left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def answered(request: ASGIRequest, slug: str) -> HttpResponseBase:
    began = time.monotonic()
    with translation.override(translation.get_language_from_request(request)):
        try:
            request.get_host()  # raises for one that is not ours
            response = await ways.relay(request, slug=slug)
        except Exception as error:
            response = await sync_to_async(response_for_exception, thread_sensitive=False)(request, error)
    for name, value in standing_headers().items():
        response.headers.setdefault(name, value)
    middleware.log_request(request, ROUTE, response, began)
    return response


@cache
def standing_headers() -> dict[str, str]:
    """What our middleware puts on every answer."""

    def answer(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    chain = answer
    for place in HEADERS_BY:
        chain = import_string(place)(chain)
    headers = dict(chain(HttpRequest()).headers)
    return {name: value for name, value in headers.items() if name not in ("Content-Type", "Content-Length")}

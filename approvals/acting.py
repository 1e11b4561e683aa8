"""How the person behind a deed proved who they are; the trail keeps it beside their pseudonym.

Set once per request at the edge (a session's middleware, the API's token check), read by `audit.record`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse


@dataclass(frozen=True)
class Means:
    auth: list[str] | None = None  # "pwd", "token", …
    session: str | None = None  # SHA-256 of the session's key: entries of one sign-in belong together


_means: ContextVar[Means | None] = ContextVar("means", default=None)


def means() -> Means:
    return _means.get() or Means()


@contextmanager
def by(*auth: str, session: str | None = None) -> Iterator[None]:
    """Deeds inside were done by someone who proved it by `auth`."""
    before = _means.set(Means(list(auth), session))
    try:
        yield
    finally:
        _means.reset(before)


@contextmanager
def in_session(request: HttpRequest) -> Iterator[None]:
    """Deeds inside were done by whoever signed in to this request's session with a password."""
    key = request.session.session_key or ""
    with by("pwd", session=hashlib.sha256(key.encode()).hexdigest()):
        yield


def remember_sign_in(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware, after the session's."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.session.session_key is None:
            return get_response(request)
        with in_session(request):
            return get_response(request)

    return middleware

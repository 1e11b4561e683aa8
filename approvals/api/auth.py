"""Who asks: the Bearer token of a person, and how often they may."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from ninja.security import HttpBearer

from approvals import rates, tokens
from approvals.api.problems import ApiProblem
from approvals.models import User


class PersonToken(HttpBearer):
    """No cookie counts here, so no other site can use a session to call the API."""

    def __call__(self, request: HttpRequest) -> User | None:
        """The person, or None (401). Only wrong tokens use up an address: a right one is never locked out by others."""
        user: User | None = super().__call__(request)
        if user is None:
            refuse_if_waiting(rates.WRONG_TOKENS.wait(request.META.get("REMOTE_ADDR", ""), now=timezone.now()))
        elif request.method not in ("GET", "HEAD"):
            refuse_if_waiting(rates.WRITES.wait(str(user.pk), now=timezone.now()))
        return user

    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        user = tokens.owner(token, now=timezone.now())
        if user is not None:
            request.user = user
        return user


def refuse_if_waiting(seconds: int) -> None:
    if seconds:
        raise ApiProblem(429, "too_many", _("Too many requests. Wait a moment."), retry_after=seconds)


def person(request: HttpRequest) -> User:
    """Who asks; set by `PersonToken` before any operation runs."""
    return cast(User, request.user)

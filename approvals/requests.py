"""What a view behind the login gets."""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from approvals.models import User


class PersonRequest(HttpRequest):
    """A request of a signed-in person; `htmx` is true when only a fragment is wanted."""

    user: User
    htmx: HtmxDetails

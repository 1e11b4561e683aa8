"""NUL is in no column of text: PostgreSQL neither looks for it nor keeps it. Whoever sends it asked badly (400)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.defaults import bad_request

from approvals.api import problems


class RefuseUnstorable:
    """Middleware. Foreign text that may hold it is kept as bytes and never comes here (`approvals.fields`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, DataError) or not any("\x00" in text for text in _sent(request)):
            return None
        if request.path.startswith("/api/"):
            return problems.response(problems.bad_query(_("This holds a NUL character, which nothing here holds.")))
        return bad_request(request, error)


def _sent(request: HttpRequest) -> Iterator[str]:
    yield request.path
    for form in (request.GET, request.POST):
        for _name, values in form.lists():
            yield from map(str, values)

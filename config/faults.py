"""What somebody is told when we broke or have no such address: a page for people, a problem for programs."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.defaults import page_not_found

from approvals.api import problems

PROGRAMS = ("/api/", "/agui/")


def missing(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django calls it for an address that leads nowhere."""
    if request.path.startswith(PROGRAMS):
        return problems.response(problems.not_found())
    return page_not_found(request, exception)


def broken(request: HttpRequest) -> HttpResponse:
    """Django calls it after it logged the fault. Nothing here asks the database: it may be what broke."""
    if request.path.startswith(PROGRAMS):
        said = _(
            "If this was a step on a case, look at the case before you try again: it shows whether the step was "
            "recorded."
        )
        return problems.response(problems.ApiProblem(500, "broken", said))
    return HttpResponseServerError(render_to_string("500.html"))

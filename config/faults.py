"""What somebody is told when we broke: a page for people, a problem for programs. Nothing here asks the database."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from approvals.api import problems


def broken(request: HttpRequest) -> HttpResponse:
    """Django calls it after it logged the fault."""
    if request.path.startswith(("/api/", "/agui/")):
        said = _("Nothing was decided or sent by this step. Look at the case before you try again.")
        return problems.response(problems.ApiProblem(500, "broken", said))
    return HttpResponseServerError(render_to_string("500.html"))

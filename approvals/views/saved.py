"""Keeping a view of the queue, and changing or removing one."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils.timezone import now as current
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals import waiting
from approvals.models import SavedView
from approvals.models.people import Role
from approvals.refusals import Invalid, Refused
from approvals.requests import PersonRequest
from approvals.schemas import Problem
from approvals.verbs import keeping

ACTIONS = ("first", "not-first", "remove", "role")


@require_POST
@login_required
def save_view(request: PersonRequest) -> HttpResponse:
    """The filters of the page they stand on, under a name. What is unknown there is left out."""
    posted = request.POST
    query = waiting.Filters.of(QueryDict(posted.get("query", ""))).query()
    shared = posted.get("shared") == "1"
    try:
        view = keeping.save(request.user, name=posted.get("name", ""), query=query, shared=shared, now=current())
        if posted.get("first") == "1":
            keeping.begin_with(request.user, view)
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("The view “%(name)s” is kept.") % {"name": view.name})
    return _back(query)


@require_POST
@login_required
def change_view(request: PersonRequest, number: int) -> HttpResponse:
    view = keeping.visible(request.user, only=number).first()
    if view is None:
        raise Http404
    try:
        _change(request, view, request.POST.get("action", ""))
    except Refused as refused:
        messages.error(request, str(refused))
    return _back(view.query)


def _change(request: PersonRequest, view: SavedView, action: str) -> None:
    user, now = request.user, current()
    if action == "first":
        keeping.begin_with(user, view)
    elif action == "not-first":
        keeping.begin_with(user, None)
    elif action == "remove":
        keeping.remove(user, view, now=now)
    elif action == "role":
        role = request.POST.get("role", "")
        keeping.first_for(user, view, role=Role(role) if role in Role.values else None, now=now)
    else:
        raise Invalid([Problem("/action", _("A view can be: %s.") % ", ".join(ACTIONS))])


def _back(query: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('queue')}?{query or 'state=open'}")

"""The queue: what waits, soonest first. One view answers page and fragment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.timezone import now as current
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from approvals import permissions, waiting
from approvals.models import SavedView, Task
from approvals.models.cases import State
from approvals.requests import PersonRequest
from approvals.verbs import keeping
from approvals.views import rail
from approvals.waiting import news, rows

ALL_OPEN = "state=open"  # an address that says nothing opens the person's first view


@require_GET
@login_required
@vary_on_headers("HX-Request")
def queue(request: PersonRequest) -> HttpResponse:
    now = current()
    views = list(keeping.visible(request.user))
    first = None if request.GET or request.htmx else keeping.first_of(request.user, views)
    if first and first.query:
        return HttpResponseRedirect(f"{request.path}?{first.query}")
    context = _context(request, waiting.Filters.of(request.GET), views, now=now)
    return render(request, "approvals/_queue_update.html" if request.htmx else "approvals/queue.html", context)


def _context(
    request: PersonRequest, filters: waiting.Filters, views: Sequence[SavedView], *, now: datetime
) -> dict[str, Any]:
    user = request.user
    glance = waiting.glance(user, now=now)  # first: what happens meanwhile is told again rather than missed
    queues = permissions.visible_queues(user)
    page = waiting.page(user, filters, queues=queues, glance=glance, now=now)
    told = news.since(user, filters, request.GET, page.tasks, now=now) if request.htmx else news.NOTHING
    lines = _rows(request, page.tasks, told.kept, now=now)
    return {
        "now": now,
        "cursor": glance.cursor,
        "topics": "queue",
        "filters": filters,
        "address": f"{request.path}?{filters.query(after=filters.after) or ALL_OPEN}",
        "page": page,
        "rows": lines,
        "groups": rows.grouped(lines, filters),
        "news": told,
        "newest": glance.newest,
        "open_count": glance.open,
        "flood": next((facet.agent_name for facet in glance.facets if facet.agent == page.flood), page.flood),
        "only_flood": filters.query(agent=page.flood),
        "next_page": filters.query(after=page.next) if page.next else "",
        "first_page": filters.query() or ALL_OPEN if filters.after else "",
        "may_list": any(line.in_list for line in lines),
        **rail.context(user, filters, glance, queues=queues, views=views, here=request.GET.urlencode(), now=now),
    }


def _rows(request: PersonRequest, tasks: Sequence[Task], kept: Sequence[Task], *, now: datetime) -> list[rows.Row]:
    """The lines of the page, and in their old places those that only stand there because they are being looked at."""
    ended = [task for task in (*tasks, *kept) if task.state_at(now) != State.OPEN]
    decisions = rows.decided(ended) if ended else {}
    keep = {task.pk for task in kept}
    together = sorted((*tasks, *kept), key=news.order) if kept else tasks
    return [
        rows.row(request.user, task, now=now, decision=decisions.get(task.pk), kept=task.pk in keep)
        for task in together
    ]

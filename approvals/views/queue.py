"""The queue: what waits, soonest first; claim and release. One view answers page and fragment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.timezone import now as current
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers

from approvals import claiming, permissions, waiting
from approvals.models import Queue, Task
from approvals.models.cases import EXPIRED, State
from approvals.refusals import Refused
from approvals.requests import PersonRequest


@dataclass(frozen=True, slots=True)
class Choice:
    """A line of the rail: a saved view or a filter value with its number (None where it is not counted)."""

    name: str
    value: str
    number: int | None
    chosen: bool


@require_GET
@login_required
@vary_on_headers("HX-Request")
def queue(request: PersonRequest) -> HttpResponse:
    now = current()
    filters = waiting.Filters.of(request.GET)
    glance = waiting.glance(request.user, now=now)  # first: what happens meanwhile is told again rather than missed
    queues = permissions.visible_queues(request.user)
    page = waiting.page(request.user, filters, queues=queues, now=now)
    context: dict[str, Any] = {
        "now": now,
        "cursor": glance.cursor,
        "topics": "queue",
        "filters": filters,
        "page": page,
        "rows": [_row(request, task) for task in page.tasks],
        "open_count": glance.open,
        "views": _views(request, filters, glance),
        "queues": _queues(queues, filters.queues, glance),
        "agents": _agents(filters.agents, glance),
        "states": waiting.STATES,
        "next_page": _query(request, after=page.next) if page.next else "",
        "first_page": _query(request, after="") if filters.after else "",
    }
    return render(request, "approvals/_queue_update.html" if request.htmx else "approvals/queue.html", context)


@require_POST
@login_required
def claim(request: PersonRequest, code: str) -> HttpResponse:
    return _courtesy(request, code, claiming.claim)


@require_POST
@login_required
def release(request: PersonRequest, code: str) -> HttpResponse:
    return _courtesy(request, code, claiming.release)


def _courtesy(request: PersonRequest, code: str, verb: Callable[..., None]) -> HttpResponse:
    """Claim or release, then the row as it now is: 409 and 403 carry it too, with the sentence."""
    task, refused = _task(request, code), None
    try:
        verb(task, by=request.user, now=current())
    except Refused as problem:
        refused = problem
    if request.htmx:
        context = {"row": _row(request, _task(request, code)), "notice": str(refused or ""), "now": current()}
        return render(request, "approvals/_task_row.html", context, status=refused.status if refused else 200)
    if refused:
        messages.error(request, str(refused))
    return HttpResponseRedirect(_back(request))


def _task(request: PersonRequest, code: str) -> Task:
    tasks = permissions.visible_tasks(request.user).select_related("case", "queue", "claimed_by")
    task = tasks.filter(code=code).first()
    if task is None:
        raise Http404
    return task


def _back(request: PersonRequest) -> str:
    wanted = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if safe else "/queue/"


def _row(request: PersonRequest, task: Task) -> dict[str, Any]:
    now = current()
    mine = task.claimed_by_id == request.user.pk
    return {
        "task": task,
        "state": task.state_at(now),
        "mine": mine,
        "may_claim": task.claimed_by is None and waiting.may_claim(request.user, task),
        "may_release": mine and task.state == State.OPEN,
        "back": request.POST.get("next") or request.get_full_path(),
    }


def _views(request: PersonRequest, filters: waiting.Filters, glance: waiting.Glance) -> list[Choice]:
    """The saved views: each is only an address."""

    def view(name: str, query: str, wanted: Callable[[waiting.Facet], bool]) -> Choice:
        return Choice(name, query, glance.count(wanted), request.GET.urlencode() == query)

    return [
        view(_("All open"), "", lambda facet: True),
        view(_("Due in %(m)d min") % {"m": waiting.SOON_MINUTES}, f"due={waiting.SOON_MINUTES}", lambda f: f.soon),
        view(_("I am on"), "claimed=me", lambda facet: facet.mine),
        view(_("High risk"), "risk=high", lambda facet: facet.high),
        view(_("Asks for input"), "asks=1", lambda facet: facet.asks),
        Choice(_("Expired"), f"state={EXPIRED}", None, filters.state == EXPIRED),
        Choice(_("Decided"), f"state={State.SETTLED}", None, filters.state == State.SETTLED),
    ]


def _queues(queues: list[Queue], chosen: tuple[str, ...], glance: waiting.Glance) -> list[Choice]:
    numbers = glance.by(lambda facet: facet.queue)
    return [Choice(queue.name, queue.name, numbers.get(queue.name), queue.name in chosen) for queue in queues]


def _agents(chosen: tuple[str, ...], glance: waiting.Glance) -> list[Choice]:
    """The agents that ask now, and those chosen although they do not."""
    numbers = glance.by(lambda facet: facet.agent)
    names = sorted({facet.agent for facet in glance.facets} | set(chosen))
    return [Choice(name, name, numbers.get(name), name in chosen) for name in names]


def _query(request: PersonRequest, **changes: str) -> str:
    query = request.GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value:
            query[name] = value
    return "?" + query.urlencode()

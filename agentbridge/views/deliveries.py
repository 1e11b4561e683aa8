"""`/deliveries/`: everything that is owed to agents, what waits for a person first."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from agentbridge import visibility
from agentbridge.delivery import ledger, settling
from agentbridge.models import Incident, Resume
from agentbridge.models.delivery import WAITING
from agentbridge.views import rows
from approvals import permissions
from approvals.models import Case, State, User
from approvals.models.cases import CaseQuerySet
from approvals.requests import PersonRequest
from approvals.waiting import newest_seq

PAGE = 50
COUNTED = 1_000  # beyond this a count says "1,000+"
VIEWS: dict[str, tuple[str, ...]] = {
    "waiting": WAITING, "all": (), "under_way": ledger.UNDER_WAY, "finished": ledger.DONE, "ended": ledger.OTHERWISE,
}  # fmt: skip


@require_safe
@login_required
@vary_on_headers("HX-Request")
def delivery_list(request: PersonRequest) -> HttpResponse:
    """Filters in the URL: `view`, `agent`, and `before` to go on."""
    cursor = newest_seq()  # read first: what happens meanwhile is told again rather than missed
    user, now = request.user, timezone.now()
    view = request.GET.get("view", "all")
    view = view if view in VIEWS else "all"
    agent = request.GET.get("agent", "")
    names = dict(visibility.agents(user).values_list("slug", "name"))
    may_act, older = permissions.may_operate(user) is None, None
    waiting: list[rows.DeliveryRow] = []
    others: list[rows.DeliveryRow] = []
    if view in ("all", "waiting"):
        waiting = waiting_rows(user, agent, names=names, may_act=may_act, now=now)
    if view != "waiting":
        others, older = other_rows(request, view, agent, names=names, now=now)
    context: dict[str, Any] = {
        "view": view, "agent": agent, "names": names, "waiting": waiting, "others": others, "older": older,
        "counts": counts(user, agent, now), "topics": "trail", "cursor": cursor, "may_close": may_act,
        "incidents": open_incidents(user, agent) if view in ("all", "waiting") else (),
    }  # fmt: skip
    whole = "agentbridge/delivery_list.html"
    return render(request, "agentbridge/_delivery_ledger.html" if request.htmx else whole, context)


def open_incidents(user: User, agent: str) -> list[Incident]:
    """What nobody has looked at yet, the oldest first."""
    found = visibility.incidents(user).filter(closed_at=None)
    found = found.filter(case__agent=agent) if agent else found
    return list(found.select_related("case", "task").order_by("pk")[:PAGE])


def resumes(user: User, agent: str) -> QuerySet[Resume]:
    found = visibility.deliveries(user).filter(replaced_at__isnull=True)
    found = found.filter(agent__slug=agent) if agent else found
    return found.select_related("case", "agent").prefetch_related("case__tasks", "attempts__thread__agent")


def cases(user: User, agent: str) -> CaseQuerySet:
    found = permissions.visible_cases(user)
    found = found.filter(agent=agent) if agent else found
    return found.prefetch_related("tasks", "resumes")


def waiting_rows(user: User, agent: str, *, now: datetime, **told: Any) -> list[rows.DeliveryRow]:
    """Deliveries that wait for a person, then cases that go nowhere without one; the longest waiting first."""
    doubts = resumes(user, agent).filter(state__in=WAITING).order_by("changed_at", "pk")[:PAGE]
    found = [
        rows.of_case(row.case, resume=row, now=now, moved_on=settling.moved_on(row), **told) for row in doubts
    ]  # fmt: skip
    stuck = stuck_cases(user, agent, now).order_by("pk")[:PAGE]
    return found + [rows.of_case(case, resume=ledger.current(case), now=now, **told) for case in stuck]


def stuck_cases(user: User, agent: str, now: datetime) -> QuerySet[Case]:
    return ledger.stuck(cases(user, agent), now).exclude(resumes__state__in=WAITING)


def moving(user: User, agent: str, now: datetime) -> QuerySet[Resume]:
    """Sealed, and waiting for nobody: a case stands in one part of the page only."""
    stuck = ledger.stuck(Case.objects.all(), now).values("pk")
    return resumes(user, agent).exclude(state__in=WAITING).exclude(case__in=stuck)


def unsealed_cases(user: User, agent: str, now: datetime) -> QuerySet[Case]:
    """Settled, and still ours: held, or ready for the worker."""
    return cases(user, agent).unexpired(now).filter(state=State.SETTLED, taken_at=None, blocked="")


def other_rows(
    request: PersonRequest, view: str, agent: str, *, now: datetime, names: dict[str, str]
) -> tuple[list[rows.DeliveryRow], int | None]:
    """What is settled but not sealed (first page only), then sealed deliveries, the newest first."""
    found: list[rows.DeliveryRow] = []
    told: dict[str, Any] = {"names": names, "now": now, "may_act": False}
    before = request.GET.get("before", "")
    if not before and view in ("all", "under_way"):
        unsealed = unsealed_cases(request.user, agent, now).order_by("-settled_at", "-pk")
        found = [rows.of_case(case, resume=None, **told) for case in unsealed[:PAGE]]
    sealed = moving(request.user, agent, now)
    if VIEWS[view]:
        sealed = sealed.filter(state__in=VIEWS[view])
    if before.isascii() and before.isdecimal() and len(before) < 19:
        sealed = sealed.filter(pk__lt=int(before))
    page = list(sealed.order_by("-pk")[: PAGE + 1])
    found += [rows.of_case(row.case, resume=row, **told) for row in page[:PAGE]]
    return found, page[PAGE - 1].pk if len(page) > PAGE else None


def counts(user: User, agent: str, now: datetime) -> dict[str, str]:
    """How many in each view, counted no further than a person reads."""
    sealed = moving(user, agent, now)
    number = {view: capped(sealed.filter(state__in=states)) for view, states in VIEWS.items() if states}
    number["waiting"] = capped(resumes(user, agent).filter(state__in=WAITING)) + capped(stuck_cases(user, agent, now))
    number["under_way"] += capped(unsealed_cases(user, agent, now))
    number["all"] = sum(number.values())
    return {view: f"{COUNTED:,}+" if found > COUNTED else str(found) for view, found in number.items()}


def capped(found: QuerySet[Any]) -> int:
    return found.order_by()[: COUNTED + 1].count()

"""`/deliveries/`: everything that is owed to agents, what waits for a person first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Prefetch, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from agentbridge import visibility
from agentbridge.delivery import ledger
from agentbridge.delivery.proof import LATER_RUN
from agentbridge.models import Incident, Resume
from agentbridge.models.delivery import WAITING
from agentbridge.views import doubting, rows
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


@dataclass(frozen=True)
class Asked:
    """What the URL asks for: a view, an agent, and where to go on in either part of the page."""

    user: User
    view: str
    agent: str
    before: int | None  # the rest: older than this delivery
    skip: int  # what waits: so many have been seen

    @classmethod
    def by(cls, request: PersonRequest) -> Asked:
        view = request.GET.get("view", "all")
        before, skip = (number(request.GET.get(name, "")) for name in ("before", "skip"))
        return cls(request.user, view if view in VIEWS else "all", request.GET.get("agent", ""), before, skip or 0)


def number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


@require_safe
@login_required
@vary_on_headers("HX-Request")
def delivery_list(request: PersonRequest) -> HttpResponse:
    """Filters in the URL: `view`, `agent`, and `skip` or `before` to go on."""
    cursor = newest_seq()  # read first: what happens meanwhile is told again rather than missed
    asked, now = Asked.by(request), timezone.now()
    names = dict(visibility.agents(asked.user).values_list("slug", "name"))
    may_act = permissions.may_operate(asked.user) is None
    actor = asked.user if may_act else None
    waiting: list[rows.DeliveryRow] = []
    others: list[rows.DeliveryRow] = []
    further, older, counted = None, None, counts(asked, now)
    if asked.view in ("all", "waiting") and asked.before is None:
        waiting, further = waiting_rows(asked, names=names, actor=actor, now=now)
    if asked.view != "waiting" and not asked.skip:
        others, older = other_rows(asked, names=names, now=now)
    context: dict[str, Any] = {
        "view": asked.view, "agent": asked.agent, "names": names, "waiting": waiting, "others": others,
        "further": further, "older": older, "alarms": counted["waiting"],
        "counts": {view: words(found) for view, found in counted.items()}, "topics": "trail", "cursor": cursor,
        "may_close": may_act, "now": now,
        "incidents": open_incidents(asked.user, asked.agent) if asked.view in ("all", "waiting") else (),
    }  # fmt: skip
    whole = "agentbridge/delivery_list.html"
    return render(request, "agentbridge/_delivery_ledger.html" if request.htmx else whole, context)


def open_incidents(user: User, agent: str) -> list[Incident]:
    """What nobody has looked at yet, the oldest first."""
    found = visibility.incidents(user).filter(closed_at=None)
    found = found.filter(case__agent=agent) if agent else found
    return list(found.select_related("case", "task").order_by("pk")[:PAGE])


def resumes(asked: Asked) -> QuerySet[Resume]:
    found = visibility.deliveries(asked.user).filter(replaced_at__isnull=True)
    found = found.filter(agent__slug=asked.agent) if asked.agent else found
    shown = ("case__tasks__queue", "case__nexts", "attempts__thread__agent")
    return found.select_related("case", "agent").prefetch_related(*shown)


def cases(asked: Asked) -> CaseQuerySet:
    found = permissions.visible_cases(asked.user)
    found = found.filter(agent=asked.agent) if asked.agent else found
    current = Resume.objects.filter(replaced_at=None).select_related("agent")
    sealed = Prefetch("resumes", current.prefetch_related("attempts__thread__agent"))
    return found.prefetch_related("tasks__queue", sealed)


def waiting_rows(asked: Asked, *, now: datetime, **told: Any) -> tuple[list[rows.DeliveryRow], int | None]:
    """Deliveries that wait for a person, then cases that go nowhere without one; the longest waiting first."""
    until = asked.skip + PAGE
    doubts = resumes(asked).filter(state__in=WAITING)
    page = list(doubts.annotate(moved_on=LATER_RUN).order_by("changed_at", "pk")[asked.skip : until + 1])
    told["newest"] = doubting.newest_runs(asked.user, page)
    found = [rows.of_case(row.case, resume=row, now=now, moved_on=row.moved_on, **told) for row in page]
    if len(found) <= PAGE:
        ahead = doubts.order_by().count()
        stuck = stuck_cases(asked, now).order_by("pk")[max(0, asked.skip - ahead) : until + 1 - ahead]
        found += [rows.of_case(case, resume=next(iter(case.resumes.all()), None), now=now, **told) for case in stuck]
    return found[:PAGE], until if len(found) > PAGE else None


def stuck_cases(asked: Asked, now: datetime) -> QuerySet[Case]:
    doubts = Resume.objects.filter(state__in=WAITING, replaced_at=None)
    return ledger.stuck(cases(asked), now).exclude(pk__in=doubts.values("case"))


def moving(asked: Asked, now: datetime) -> QuerySet[Resume]:
    """Sealed, and waiting for nobody: a case stands in one part of the page only."""
    stuck = ledger.stuck(Case.objects.all(), now).values("pk")
    return resumes(asked).exclude(state__in=WAITING).exclude(case__in=stuck)


def unsealed_cases(asked: Asked, now: datetime) -> QuerySet[Case]:
    """Settled, and still ours: held, or ready for the worker."""
    return cases(asked).unexpired(now).filter(state=State.SETTLED, taken_at=None, blocked="")


def other_rows(
    asked: Asked, *, now: datetime, names: dict[str, str]
) -> tuple[list[rows.DeliveryRow], int | None]:
    """What is settled but not sealed (first page only), then sealed deliveries, the newest first."""
    found: list[rows.DeliveryRow] = []
    told: dict[str, Any] = {"names": names, "now": now, "actor": None}
    if asked.before is None and asked.view in ("all", "under_way"):
        unsealed = unsealed_cases(asked, now).order_by("-settled_at", "-pk")
        found = [rows.of_case(case, resume=None, **told) for case in unsealed[:PAGE]]
    sealed = moving(asked, now)
    if VIEWS[asked.view]:
        sealed = sealed.filter(state__in=VIEWS[asked.view])
    if asked.before is not None:
        sealed = sealed.filter(pk__lt=asked.before)
    page = list(sealed.order_by("-pk")[: PAGE + 1])
    found += [rows.of_case(row.case, resume=row, **told) for row in page[:PAGE]]
    return found, page[PAGE - 1].pk if len(page) > PAGE else None


def counts(asked: Asked, now: datetime) -> dict[str, int]:
    """How many in each view, counted no further than a person reads."""
    sealed = moving(asked, now)
    number = {view: capped(sealed.filter(state__in=states)) for view, states in VIEWS.items() if states}
    number["waiting"] = capped(ledger.waiting(cases(asked), now))
    number["under_way"] += capped(unsealed_cases(asked, now))
    return {**number, "all": sum(number.values())}


def words(found: int) -> str:
    return f"{COUNTED:,}+" if found > COUNTED else str(found)


def capped(found: QuerySet[Any]) -> int:
    return found.order_by()[: COUNTED + 1].count()

"""`/api/v1/audit` and the trail of a case."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from ninja import Router

from approvals import permissions
from approvals.api import paging, schema, shapes
from approvals.api.answering import answer
from approvals.api.auth import person
from approvals.api.problems import bad_query, not_found
from approvals.api.stamps import read_time
from approvals.models import AuditEntry
from approvals.trail import sightings, trailsearch

router = Router(tags=["trail"])
FILTERS = ("actor", "verb", "agent", "thread", "since", "until", "q")


@router.get(
    "cases/{code}/trail", response={200: schema.Entries, **schema.READ}, summary="The trail of a case, oldest first"
)
def case_trail(request: HttpRequest, code: str, limit: paging.Limit = paging.PAGE, cursor: str = "") -> HttpResponse:
    paging.only(request, ())
    case = permissions.visible_cases(person(request)).filter(code=code).first()
    if case is None:
        raise not_found()
    sightings.read_by_program(case, by=person(request), now=timezone.now())
    found = trailsearch.visible(person(request)).filter(case=case).order_by("seq")
    if cursor:
        found = found.filter(seq__gt=paging.read_cursor(cursor, int)[0])
    return listed(list(found.select_related("case", "task", "actor")[: limit + 1]), limit)


@router.get("audit", response={200: schema.Entries, **schema.READ}, summary="All entries you may read, newest first")
def audit(
    request: HttpRequest, actor: str = "", verb: str = "", agent: str = "", thread: str = "", since: str = "",
    until: str = "", q: str = "", limit: paging.Limit = paging.PAGE, cursor: str = "",
) -> HttpResponse:  # fmt: skip
    paging.only(request, FILTERS)
    found = trailsearch.filtered(
        trailsearch.visible(person(request)), actor=actor, verb=verb, agent=agent, thread=thread,
        since=moment("since", since), until=moment("until", until), q=q,
    )  # fmt: skip
    told = {name: request.GET[name] for name in FILTERS if request.GET.get(name)}
    sightings.asked_by_program(told, by=person(request), now=timezone.now())
    before = paging.read_cursor(cursor, int)[0] if cursor else None
    found = trailsearch.narrowed(found, person(request))
    return listed(trailsearch.newest(found, most=limit + 1, before=before), limit)


def moment(name: str, text: str) -> datetime | None:
    if not text:
        return None
    at = read_time(text)
    if at is None:
        raise bad_query(_("%(name)s is not a time: %(text)s") % {"name": name, "text": text})
    return at


def listed(rows: list[AuditEntry], limit: int) -> HttpResponse:
    """A page; `rows` has one more where there is a next one."""
    following = paging.write_cursor(rows[limit - 1].seq) if len(rows) > limit else None
    return answer({"entries": [shapes.entry(row) for row in rows[:limit]], "next": following})

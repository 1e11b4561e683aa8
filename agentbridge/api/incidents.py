"""`/api/v1/incidents`: where what happened is not what was decided."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from ninja import Router

from agentbridge import visibility
from agentbridge.api import schema, shapes
from agentbridge.delivery import incidents
from agentbridge.models import Incident
from approvals.api import bodies, paging
from approvals.api.answering import answer, once
from approvals.api.auth import person
from approvals.api.problems import bad_query, not_found
from approvals.models import User

router = Router(tags=["incidents"])


@router.get("incidents", response={200: schema.Incidents, **schema.READ}, summary="Incidents, newest first")
def incident_list(
    request: HttpRequest, state: str = "", kind: str = "", limit: paging.Limit = paging.PAGE, cursor: str = ""
) -> HttpResponse:
    paging.only(request, ("state", "kind"))
    if state not in ("", "open", "closed") or kind not in ("", *Incident.Kind.values):
        raise bad_query(_("There is no such state or kind of incident."))
    found = visibility.incidents(person(request)).select_related("case", "task", "run", "closed_by")
    if state:
        found = found.filter(closed_at__isnull=state == "open")
    if kind:
        found = found.filter(kind=kind)
    if cursor:
        found = found.filter(pk__lt=paging.read_cursor(cursor, int)[0])
    rows = list(found.order_by("-pk")[: limit + 1])
    following = paging.write_cursor(rows[limit - 1].pk) if len(rows) > limit else None
    return answer({"incidents": [shapes.incident(row) for row in rows[:limit]], "next": following})


@router.post(
    "incidents/{int:number}/close", response={200: schema.Incident, **schema.WRITE}, summary="Say what came of it",
    openapi_extra=schema.takes(schema.ReasonIn),
)  # fmt: skip
def incident_close(request: HttpRequest, number: int) -> HttpResponse:
    by, now = person(request), timezone.now()
    find(by, number)
    reason = bodies.read(request, ("reason",)).string("reason")

    def act() -> HttpResponse:
        incidents.close(find(by, number), by=by, reason=reason, now=now)
        return answer(shapes.incident(find(by, number)))

    return once(request, act, now=now)


def find(user: User, number: int) -> Incident:
    rows = visibility.incidents(user).select_related("case", "task", "run", "closed_by")
    found = rows.filter(pk=number).first() if number < 2**63 else None
    if found is None:
        raise not_found()
    return found

"""The trail, newest first. Every filter is in the address; pages follow each other by number of entry."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.timezone import now as current
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from approvals import audit as trail
from approvals import trailpage, trailsearch, waiting
from approvals.models import AuditEntry
from approvals.requests import PersonRequest

PAGE = 50
DAY = timedelta(days=1)
NAMES = ("q", "actor", "verb", "agent", "thread", "case", "since", "until")


@dataclass(frozen=True)
class Filters:
    """The filters as they stand in the address, and what could not be understood of them."""

    texts: dict[str, str]
    since: datetime | None
    until: datetime | None
    before: int | None
    problems: list[str]

    @property
    def are_set(self) -> bool:
        return any(self.texts.values())

    def entries(self, entries: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        plain = {name: self.texts[name] for name in ("actor", "verb", "agent", "thread", "q")}
        found = trailsearch.filtered(entries, since=self.since, until=self.until, **plain)
        if self.texts["case"]:
            found = found.filter(case__code=self.texts["case"].upper())
        return found if self.before is None else found.filter(seq__lt=self.before)


@require_safe
@login_required
@vary_on_headers("HX-Request")
def audit(request: PersonRequest) -> HttpResponse:
    cursor = waiting.newest_seq()  # read first: what happens meanwhile is told again rather than missed
    filters = filters_of(request)
    entries = [] if filters.problems else newest(filters.entries(trailsearch.visible(request.user)))
    shown = entries[:PAGE]
    context: dict[str, Any] = {
        "now": current(),
        "cursor": cursor,
        "topics": "trail" if filters.before is None else "",
        "filters": filters,
        "values": filters.texts,
        "verbs": trail.verbs(),
        "rows": trailpage.rows(shown),
        "older": query(request, before=str(shown[-1].seq)) if len(entries) > PAGE else "",
        "newest": query(request, before="") if filters.before is not None else "",
    }
    template = "approvals/_audit_list.html" if request.htmx else "approvals/audit.html"
    return render(request, template, context, status=400 if filters.problems else 200)


def newest(entries: QuerySet[AuditEntry]) -> list[AuditEntry]:
    """One more than a page, to know whether there is more."""
    return list(entries.select_related("actor", "case", "task").order_by("-seq")[: PAGE + 1])


def filters_of(request: PersonRequest) -> Filters:
    texts = {name: request.GET.get(name, "").strip() for name in NAMES}
    since, until = moment(texts["since"]), moment(texts["until"], end_of_day=True)
    before = request.GET.get("before", "")
    unread = [name for name, at in (("since", since), ("until", until)) if texts[name] and at is None]
    return Filters(
        texts=texts,
        since=since,
        until=until,
        before=int(before) if before.isascii() and before.isdigit() and len(before) < 19 else None,
        problems=[_("“%(text)s” is not a date.") % {"text": texts[name]} for name in unread],
    )


def moment(text: str, *, end_of_day: bool = False) -> datetime | None:
    """A day or a moment in UTC; `end_of_day`: a day counts whole."""
    try:
        day: date | None = parse_date(text)
        at = datetime.combine(day, time(), UTC) + (DAY if end_of_day else timedelta()) if day else parse_datetime(text)
    except (ValueError, OverflowError):
        return None
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def query(request: PersonRequest, **changes: str) -> str:
    words = request.GET.copy()
    for name, value in changes.items():
        words.pop(name, None)
        if value:
            words[name] = value
    return "?" + words.urlencode()

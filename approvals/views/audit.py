"""The trail as auditors ask it: every filter is in the address; counts, a chart and the entries answer one question."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.timezone import now as current
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from approvals import audit as trail
from approvals import permissions, waiting
from approvals.models import AuditEntry, Sample, User
from approvals.models.cases import Verdict
from approvals.requests import PersonRequest
from approvals.trail import anchors, sightings, trailpage, trailsearch
from approvals.workbench import charting, counting, question, questions, sampling
from approvals.workbench.question import Question

PAGE = 50


@require_safe
@login_required
@vary_on_headers("HX-Request")
def audit(request: PersonRequest) -> HttpResponse:
    cursor = waiting.newest_seq()  # read first: what happens meanwhile is told again rather than missed
    asked, before = question.asked(request.GET), place(request.GET.get("before", ""))
    found = [] if asked.problems else page(request.user, asked, before)
    context = {
        **listed(request, found),
        "cursor": cursor,
        "topics": "trail" if before is None else "",
        "asked": asked,
        "newest": query(request, before="") if before is not None else "",
    }
    status = 400 if asked.problems else 200
    if request.htmx:
        return render(request, "approvals/_audit_list.html", context, status=status)
    if not asked.problems and before is None:
        told = sightings.searched(asked.told, by=request.user, now=current())
        context["cursor"] = sightings.cursor_after(cursor, told)
    return render(request, "approvals/audit.html", {**context, **around(request, asked)}, status=status)


def page(user: User, asked: Question, before: int | None) -> list[AuditEntry]:
    """What is asked for, before a number or up to the newest; one more than is shown where there are older ones."""
    return trailsearch.newest(trailsearch.narrowed(asked.entries(user), user), most=PAGE + 1, before=before)


def listed(request: PersonRequest, found: list[AuditEntry]) -> dict[str, Any]:
    """A page of entries, and the way to older ones."""
    shown = found[:PAGE]
    return {
        "now": current(),
        "rows": trailpage.rows(shown),
        "older": query(request, before=str(shown[-1].seq)) if len(found) > PAGE else "",
    }


def around(request: PersonRequest, asked: Question) -> dict[str, Any]:
    """What stands around the list: the form, counts and their chart, saved questions, the sample to draw."""
    counts = counting.Counts("day", []) if asked.problems else counting.counted(asked.decisions(request.user))
    return {
        "values": asked.texts,
        "verbs": trail.verbs(),
        "queues": permissions.visible_queues(request.user),
        "verdicts": Verdict.choices,
        "more_is_set": any(asked.texts[name] for name in ("tool", "queue", "verdict", "edited", "incident", "thread",
                                                          "case", "reads")),
        "counts": counts,
        "chart": charting.drawn(counts),
        "rows_of_counts": table(counts),
        "reads_all": permissions.sees_all(request.user),
        "saved": questions.offered(request.user),
        "may_draw": sampling.may_draw(request.user) is None,
        "each": Sample.Each.choices,
        "missing": anchors.refusal() if permissions.sees_all(request.user) else "",
        "warnings": anchors.warnings() if permissions.may_tend(request.user) is None else [],
        "samples": Sample.objects.select_related("by").order_by("-pk")[:5],
    }  # fmt: skip


def table(counts: counting.Counts) -> list[dict[str, Any]]:
    """The chart in numbers: one row a period, in the order of its kinds."""
    kinds = [kind for kind, _number in counts.kinds]
    return [
        {"label": charting.day_text(period, counts.unit), "numbers": [period.counts.get(kind, 0) for kind in kinds]}
        for period in counts.periods
    ]


def place(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def query(request: PersonRequest, **changes: str) -> str:
    words = request.GET.copy()
    for name, value in changes.items():
        words.pop(name, None)
        if value:
            words[name] = value
    return "?" + words.urlencode()

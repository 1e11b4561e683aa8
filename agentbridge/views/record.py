"""The record of a case on one page, to be read, printed and kept: proposal, seen, decided, sealed, sent, ran."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from agentbridge import links
from agentbridge.record import whatwassent
from agentbridge.views.cases import find_case
from approvals import permissions
from approvals.models import Case
from approvals.requests import PersonRequest
from approvals.trail import record, sightings
from approvals.trail.record import Question, Record
from approvals.views import case as case_page
from approvals.views import hidden
from approvals.workbench import findings


@require_safe
@login_required
@hidden.by_the_rules
def case_record(request: PersonRequest, code: str) -> HttpResponse:
    """`?chain=1`: every case of the conversation, one after the other. `?all=1`: every question of a long case.

    `?entry=N`: the part of a long case that an entry tells of.
    """
    case = find_case(request, code)
    around = record.chain_of(request.user, case)
    whole = request.GET.get("chain") == "1"
    now = timezone.now()
    records = [told(request, one) for one in (around if whole else [case])]
    for one in records:
        seen = [question.task for question in one["questions"]]
        sightings.opened(one["record"].case, seen, by=request.user, page="record", now=now)
    context: dict[str, Any] = {
        "now": now,
        "case": case,
        "section": "audit",
        "records": records,
        "whole": whole,
        "chain": [{"case": one, "state": one.state_at(now)} for one in around] if len(around) > 1 else [],
        "permalink": links.absolute(request.path),
        "may_note": findings.may_write(request.user) is None,
    }
    return render(request, "agentbridge/record.html", context)


def told(request: PersonRequest, case: Case) -> dict[str, Any]:
    """One case with what the bridge knows of it and what auditors found."""
    found = record.read(request.user, case)
    if not found.questions:
        raise Http404
    questions, ranges = part_of(request, found)
    noted = case.findings.select_related("by", "closed_by", "case").order_by("-pk")
    return {
        "record": found,
        "questions": questions,
        "ranges": ranges,
        "entries": found.entries_of(questions) if ranges else found.entries,
        "state": case.state_at(timezone.now()),
        "sent": whatwassent.read(request.user, found),
        "findings": list(noted) if permissions.sees_all(request.user) else [],
    }


def part_of(request: PersonRequest, found: Record) -> tuple[list[Question], list[dict[str, int | bool]]]:
    """The questions that are drawn, and the pages of a case that has more; none where all of them are."""
    count, here = len(found.questions), case_page.number(request.GET.get("from", ""))
    if told_by := case_page.number(request.GET.get("entry", "")):
        here = found.number_of(told_by)
    if count <= record.ON_A_PAGE or request.GET.get("all") == "1":
        return found.questions, []
    start = (here - 1 if 1 <= here <= count else 0) // record.ON_A_PAGE * record.ON_A_PAGE
    firsts = range(0, count, record.ON_A_PAGE)
    ranges = [{"first": at + 1, "last": min(at + record.ON_A_PAGE, count), "is_here": at == start} for at in firsts]
    return found.part(start), ranges

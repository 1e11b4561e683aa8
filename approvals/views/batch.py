"""Tasks side by side, and one answer to a list of them with what became of each."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.timezone import now as current
from django.views.decorators.http import require_http_methods

from approvals import permissions
from approvals.desk import sidebyside
from approvals.refusals import Refused
from approvals.requests import PersonRequest
from approvals.verbs import batch, reasons
from approvals.views.courtesies import back_of


@require_http_methods(["GET", "POST"])
@login_required
def side_by_side(request: PersonRequest) -> HttpResponse:
    """GET compares and offers; POST decides the tasks that stand in the form, and no others."""
    if request.method == "POST":
        return _decide(request)
    return _compared(request, request.GET.getlist("task"))


def _compared(request: PersonRequest, codes: list[str], refused: Refused | None = None) -> HttpResponse:
    now = current()
    beside = sidebyside.read(request.user, codes, now=now)
    queues = [line.task.queue for line in beside.open_lines]
    context: dict[str, Any] = {
        "now": now,
        "beside": beside,
        "too_many": max(0, len(set(codes)) - batch.MOST),
        "most": batch.MOST,
        "batch": batch.new_name(),
        "reasons": reasons.of(queues[0]) if len({queue.pk for queue in queues}) == 1 else [],
        "reason_required": any(queue.reason_required for queue in queues),
        "comment": request.POST.get("comment", ""),
        "problem": str(refused or ""),
        "back": back_of(request),
    }
    return render(request, "approvals/side_by_side.html", context, status=refused.status if refused else 200)


def _decide(request: PersonRequest) -> HttpResponse:
    posted, now = request.POST, current()
    told = [value.partition(":") for value in posted.getlist("task")]
    tasks = {
        task.code: task
        for task in permissions.visible_tasks(request.user)
        .filter(code__in=[code for code, *_rest in told])
        .select_related("case", "queue")
    }
    chosen = [batch.Chosen(tasks[code], digest) for code, _colon, digest in told if code in tasks]
    try:
        outcomes = batch.decide(
            chosen,
            by=request.user,
            verdict=posted.get("verdict", ""),
            comment=posted.get("comment", ""),
            reason_code=posted.get("reason_code", ""),
            batch=posted.get("batch", ""),
            now=now,
        )
    except Refused as refused:
        return _compared(request, [code for code, *_rest in told], refused)
    context = {
        "now": now,
        "batch": posted.get("batch", ""),
        "outcomes": outcomes,
        "done": sum(outcome.decision is not None for outcome in outcomes),
        "missing": len(told) - len(chosen),
        "back": back_of(request),
    }
    return render(request, "approvals/batch_outcome.html", context)

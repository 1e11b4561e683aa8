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

MOST_CHOSEN = 4 * batch.MOST  # what is more than one list stands in the ones after it


@require_http_methods(["GET", "POST"])
@login_required
def side_by_side(request: PersonRequest) -> HttpResponse:
    """GET compares and offers; POST decides the tasks that stand in the form, and no others."""
    if request.method == "POST":
        return _decide(request)
    return _compared(request, request.GET.getlist("task"))


def _compared(request: PersonRequest, codes: list[str], refused: Refused | None = None) -> HttpResponse:
    now, chosen = current(), list(dict.fromkeys(codes))[:MOST_CHOSEN]
    beside, beyond = sidebyside.read(request.user, chosen, now=now), chosen[batch.MOST :]
    queues = [line.task.queue for line in beside.open_lines]
    context: dict[str, Any] = {
        "now": now,
        "beside": beside,
        "beyond": len(beyond),
        "chosen": [*(line.task.code for line in beside.open_lines), *beyond],
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
    listed = [code for code, *_rest in told]
    later = [code for code in dict.fromkeys(posted.getlist("chosen")) if code not in listed][:MOST_CHOSEN]
    tasks = {
        task.code: task
        for task in permissions.visible_tasks(request.user).filter(code__in=listed).select_related("case", "queue")
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
        return _compared(request, [*listed, *later], refused)
    context = {
        "now": now,
        "batch": posted.get("batch", ""),
        "outcomes": outcomes,
        "done": sum(outcome.decision is not None for outcome in outcomes),
        "missing": len(told) - len(chosen),
        "later": later,
        "back": back_of(request),
    }
    return render(request, "approvals/batch_outcome.html", context)

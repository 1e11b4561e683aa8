"""The bridge's parts of a case file: its delivery and its runs. Fragments for htmx, whole pages for a plain link."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from agentbridge import links, visibility
from agentbridge.delivery import ledger, settling
from agentbridge.models import Run
from agentbridge.models.delivery import WAITING
from agentbridge.views import caselines, doubting, nextsteps, rows
from approvals import permissions, reviewing
from approvals.models import Case, User
from approvals.refusals import Invalid, Refused
from approvals.requests import PersonRequest
from approvals.schemas import Problem

RUNS = "agentbridge/_case_runs.html"


@require_safe
@login_required
@vary_on_headers("HX-Request")
def case_delivery(request: PersonRequest, code: str) -> HttpResponse:
    return delivery_page(request, find_case(request, code))


@require_safe
@login_required
@vary_on_headers("HX-Request")
def case_standing(request: PersonRequest, code: str) -> HttpResponse:
    """Where the answers are, what comes next, and what did not fit: for the head of the case."""
    case, now = find_case(request, code), timezone.now()
    resume = ledger.current(case)
    sign = rows.sign_of(case, resume, now) if ledger.state_of(case, now, resume) else None
    context: dict[str, Any] = {
        "case": case, "sign": sign, "next_step": nextsteps.of(case, resume, sign, now) if sign else "",
        "incidents": visibility.incidents(request.user).filter(case=case, closed_at=None).order_by("pk"),
    }  # fmt: skip
    return answer(request, "agentbridge/_case_standing.html", context)


@require_safe
@login_required
@vary_on_headers("HX-Request")
def case_runs(request: PersonRequest, code: str) -> HttpResponse:
    """The run that asked and every run that carried the answers, oldest first; only those this person may see."""
    case = find_case(request, code)
    asked = Run.objects.filter(interrupts__task__case=case).values("pk")
    found = visibility.runs(request.user).filter(pk__in=asked) | visibility.runs(request.user).filter(resume__case=case)
    runs = found.distinct().select_related("thread__agent").prefetch_related("tool_calls").order_by("pk")
    context = {"case": case, "rows": [rows.of_run(run) for run in runs]}
    return answer(request, RUNS, context)


@require_POST
@login_required
def case_settle(request: PersonRequest, code: str) -> HttpResponse:
    """An operator's way out, with a reason. Back to where they came from, or the delivery with the refusal."""
    case = find_case(request, code)
    action, reason = request.POST.get("action", ""), request.POST.get("reason", "").strip()
    try:
        settle(case, action, reason=reason, by=request.user, now=timezone.now(), seen=request.POST.get("seen", ""))
    except Refused as refused:
        return delivery_page(request, find_case(request, code), refused=refused, reason=reason)
    back = reverse("delivery-list") if request.POST.get("back") == "deliveries" else links.case_page(code)
    return HttpResponseRedirect(back)


def settle(case: Case, action: str, *, reason: str, by: User, now: datetime, seen: str = "") -> None:
    """The verb behind a button: what it means depends on where the case stands, and stood when it was shown."""
    resume = ledger.current(case)
    is_doubt = ledger.was_doubt(seen) or (resume is not None and resume.state in WAITING)
    if is_doubt and action in ("resend", "mark_done", "answer_again", "abandon"):
        settling.resolve_doubt(case, action=action, reason=reason, by=by, now=now, seen=seen)
    elif action == "send_cancelled" or (action == "abandon" and case.is_expired(now)):
        settling.close_expired(case, action=action, reason=reason, by=by, now=now)
    elif action == "abandon":
        settling.abandon(case, reason=reason, by=by, now=now)
    elif action == "rebind":
        settling.rebind(case, reason=reason, by=by, now=now)
    elif action == "unblock":
        settling.unblock(case, reason=reason, by=by, now=now)
    elif action == "accept":
        reviewing.accept(case, by=by, reason=reason, now=now)
    else:
        raise Invalid([Problem("/action", _("This cannot be done here."))])


def find_case(request: PersonRequest, code: str) -> Case:
    case = permissions.visible_cases(request.user).prefetch_related("tasks__queue").filter(code=code).first()
    if case is None:
        raise Http404
    return case


def delivery_page(
    request: PersonRequest, case: Case, *, refused: Refused | None = None, reason: str = "", on: int | None = None
) -> HttpResponse:
    """`refused`: why a step was not taken; `on`: the incident that it was about."""
    now, resume = timezone.now(), ledger.current(case)
    may_act = permissions.may_operate(request.user) is None
    shown = (
        ledger.state_of(case, now, resume) is not None or ledger.stuck(Case.objects.filter(pk=case.pk), now).exists()
    )
    names = dict(visibility.agents(request.user).values_list("slug", "name"))
    row = rows.of_case(
        case, resume=resume, names=names, actor=request.user if may_act else None, now=now,
        moved_on=resume is not None and settling.moved_on(resume),
        newest=doubting.newest_runs(request.user, [resume]),
    )  # fmt: skip
    incidents = visibility.incidents(request.user).filter(case=case)
    context: dict[str, Any] = {
        "now": now, "case": case, "row": row if shown else None, "refused": refused, "reason": reason, "on": on,
        "may_close": may_act, "lines": caselines.lines(case, now=now),
        "incidents": incidents.select_related("task", "closed_by").order_by("pk"),
    }  # fmt: skip
    return answer(request, "agentbridge/_case_delivery.html", context, status=refused.status if refused else 200)


def answer(request: PersonRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """The partial alone for htmx, else inside a page of its own."""
    if request.htmx:
        return render(request, template, context, status=status)
    heading = _("Runs") if template == RUNS else _("Delivery")
    return render(
        request, "agentbridge/case_part.html", {**context, "part": template, "heading": heading}, status=status
    )

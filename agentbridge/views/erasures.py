"""Erasing and keeping: what is asked for, what rules say is due, what is held. Every deed wants a second person."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agentbridge.record import erasing
from approvals import permissions
from approvals.erasing import asking, holding, retention
from approvals.models import Case, Erasure, Hold, Queue, RetentionRule
from approvals.requests import PersonRequest
from approvals.views.refusing import is_done

SHOWN = 100


@require_safe
@login_required
def erasure_list(request: PersonRequest) -> HttpResponse:
    """Also the dry run: what rules say is due now, and what a hold keeps all the same."""
    readers_only(request)
    now, user = timezone.now(), request.user
    due = list(islice(retention.due(now), SHOWN + 1))
    context: dict[str, Any] = {
        "now": now, "section": "audit", "code": request.GET.get("case", ""),
        "waiting": [{"erasure": one, "why_not": asking.may_do(user, one), "way": asking.in_the_way(one.case)}
                    for one in asking.waiting()],
        "done": Erasure.objects.exclude(done_at__isnull=True, refused_at__isnull=True).order_by("-pk")
        .select_related("case", "asked_by", "done_by", "refused_by", "rule")[:SHOWN],
        "rules": list(retention.in_force()), "asked_rules": list(retention.asked_for()),
        "due": due[:SHOWN], "more_due": len(due) > SHOWN, "holds": list(holding.in_force()),
        "queues": Queue.objects.order_by("name"), "may_ask": asking.may_ask(user) is None,
        "may_hold": holding.may_place(user) is None, "may_rule": permissions.may_administer(user) is None,
    }  # fmt: skip
    return render(request, "agentbridge/erasures.html", context)


@require_POST
@login_required
def erasure_ask(request: PersonRequest) -> HttpResponse:
    readers_only(request)
    case = case_named(request.POST.get("case", ""))
    told = {name: request.POST.get(name, "") for name in ("reason", "basis")}
    return after(request, lambda: asking.ask(case, **told, by=request.user, now=timezone.now()))


@require_POST
@login_required
def erasure_do(request: PersonRequest, number: int) -> HttpResponse:
    """The second person: `action` is erase or refuse."""
    readers_only(request)
    erasure = get_object_or_404(Erasure.objects.select_related("case"), pk=number)
    if request.POST.get("action") != "erase":
        because = request.POST.get("because", "")
        return after(request, lambda: asking.refuse(erasure, because=because, by=request.user, now=timezone.now()))
    answer = after(request, lambda: erasing.carry_out(erasure, by=request.user, now=timezone.now()))
    erasing.scrub()
    return answer


@require_POST
@login_required
def hold_place(request: PersonRequest) -> HttpResponse:
    readers_only(request)
    post, code = request.POST, request.POST.get("case", "").strip()
    case, queue = case_named(code) if code else None, queue_named(post.get("queue", ""))
    return after(request, lambda: holding.place(
        case=case, queue=queue, agent=post.get("agent", "").strip(), reason=post.get("reason", ""),
        by=request.user, now=timezone.now(),
    ))  # fmt: skip


@require_POST
@login_required
def hold_lift(request: PersonRequest, number: int) -> HttpResponse:
    readers_only(request)
    hold = get_object_or_404(Hold.objects.select_related("case"), pk=number)
    because = request.POST.get("because", "")
    return after(request, lambda: holding.lift(hold, because=because, by=request.user, now=timezone.now()))


@require_POST
@login_required
def rule_ask(request: PersonRequest) -> HttpResponse:
    readers_only(request)
    post, days = request.POST, request.POST.get("days", "")
    queue = queue_named(post.get("queue", ""))
    return after(request, lambda: retention.ask(
        queue=queue, agent=post.get("agent", ""), basis=post.get("basis", ""),
        days=int(days) if days.isascii() and days.isdigit() and len(days) < 7 else 0,
        by=request.user, now=timezone.now(),
    ))  # fmt: skip


@require_POST
@login_required
def rule_settle(request: PersonRequest, number: int) -> HttpResponse:
    """`action` is agree or end."""
    readers_only(request)
    rule = get_object_or_404(RetentionRule.objects.select_related("queue"), pk=number)
    verb = retention.agree if request.POST.get("action") == "agree" else retention.end
    return after(request, lambda: verb(rule, by=request.user, now=timezone.now()))


def after(request: PersonRequest, deed: Callable[[], Any]) -> HttpResponse:
    """Back to the page, with the sentence that says why not where it was refused."""
    if is_done(request, deed):
        messages.success(request, _("Done, and on record."))
    return HttpResponseRedirect(reverse("erasure-list"), status=303)


def case_named(code: str) -> Case:
    return get_object_or_404(Case, code=code.strip().upper())


def queue_named(name: str) -> Queue | None:
    return get_object_or_404(Queue, name=name) if name else None


def readers_only(request: PersonRequest) -> None:
    if sentence := asking.may_read(request.user):
        raise PermissionDenied(sentence)

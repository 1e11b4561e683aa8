"""What people say about a task without deciding it: I am on it, I am not, I take it over, not now."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.dateparse import parse_datetime
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.timezone import is_naive, make_aware
from django.utils.timezone import now as current
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from approvals import permissions
from approvals.models import SetAside, Task
from approvals.refusals import Invalid, Refused
from approvals.requests import PersonRequest
from approvals.schemas import Problem
from approvals.verbs import asides, claiming
from approvals.waiting import pages, rows


@require_POST
@login_required
def claim(request: PersonRequest, code: str) -> HttpResponse:
    return _courtesy(request, code, claiming.claim)


@require_POST
@login_required
def release(request: PersonRequest, code: str) -> HttpResponse:
    return _courtesy(request, code, claiming.release)


@require_POST
@login_required
def pick_up(request: PersonRequest, code: str) -> HttpResponse:
    return _courtesy(request, code, asides.pick_up)


def _courtesy(request: PersonRequest, code: str, verb: Callable[..., None]) -> HttpResponse:
    """The verb, then the row as it now is: 409 and 403 carry it too, with the sentence."""
    task, refused = _task(request, code), None
    try:
        verb(task, by=request.user, now=current())
    except Refused as problem:
        refused = problem
    if request.htmx:
        now = current()
        line = rows.row(request.user, _task(request, code), now=now, kept=True)
        context = {"row": line, "notice": str(refused or ""), "now": now}
        return render(request, "approvals/_task_row.html", context, status=refused.status if refused else 200)
    if refused:
        messages.error(request, str(refused))
    return HttpResponseRedirect(back_of(request))


@require_http_methods(["GET", "POST"])
@login_required
def take_over(request: PersonRequest, code: str) -> HttpResponse:
    """Being on a task in another's place asks for a reason, so it has a page of its own."""
    task = _task(request, code)
    if request.method == "GET":
        return _asked(request, task, "approvals/take_over.html")
    try:
        claiming.take_over(task, by=request.user, reason=request.POST.get("reason", ""), now=current())
    except Refused as refused:
        return _asked(request, task, "approvals/take_over.html", refused)
    return HttpResponseRedirect(back_of(request))


@require_http_methods(["GET", "POST"])
@login_required
def not_now(request: PersonRequest, code: str) -> HttpResponse:
    """Until when, and why. The usual times are buttons; any other one is typed."""
    task, now = _task(request, code), current()
    if request.method == "GET":
        return _asked(request, task, "approvals/not_now.html")
    try:
        until = _until(request.POST, now=now)
        asides.set_aside(task, by=request.user, until=until, note=request.POST.get("note", ""), now=now)
    except Refused as refused:
        return _asked(request, task, "approvals/not_now.html", refused)
    messages.success(request, _("%(code)s is set aside; nothing is decided.") % {"code": task.code})
    return HttpResponseRedirect(back_of(request))


def _until(posted: Any, *, now: datetime) -> datetime:
    """The time of the button that was pressed, or the one that was typed. Raises Invalid."""
    text = posted.get("until") or posted.get("other", "")
    try:
        until = parse_datetime(text)
    except ValueError:
        until = None
    if until is None:
        raise Invalid([Problem("/until", _("Say until when, as a date and a time."))])
    return make_aware(until) if is_naive(until) else until


def _asked(request: PersonRequest, task: Task, template: str, refused: Refused | None = None) -> HttpResponse:
    now = current()
    context = {
        "now": now,
        "task": task,
        "choices": asides.choices(task, now=now),
        "aside": SetAside.objects.filter(user=request.user, task=task).first(),
        "note": request.POST.get("note"),
        "problem": str(refused or ""),
        "back": back_of(request),
    }
    return render(request, template, context, status=refused.status if refused else 200)


def _task(request: PersonRequest, code: str) -> Task:
    task = pages.for_rows(request.user, permissions.visible_tasks(request.user)).filter(code=code).first()
    if task is None:
        raise Http404
    return task


def back_of(request: PersonRequest) -> str:
    """Where they came from, if that is a page of ours."""
    wanted = request.POST.get("next") or request.GET.get("next") or request.headers.get("Referer", "")
    here = page_of_ours(request, wanted)
    return here if here and here != request.path else "/queue/"


def page_of_ours(request: HttpRequest, address: str) -> str:
    """The path and query of an address of ours; "" for any other, and for what is none.

    Asked again without the host: a path that begins with two slashes, or what browsers take for them, names another.
    """
    if not url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure()):
        return ""
    here = urlsplit(address)._replace(scheme="", netloc="", fragment="").geturl()
    return here if here.startswith("/") and url_has_allowed_host_and_scheme(here, None) else ""

"""Beside the decision: drafts, notes, who is reading, and what was decided before. Nothing here decides."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.timezone import now as current
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from approvals import permissions
from approvals.desk import casefile, siblings
from approvals.models import Task
from approvals.refusals import Refused
from approvals.requests import PersonRequest
from approvals.verbs import drafts, notes, reading
from approvals.views import case as case_page
from approvals.views.hidden import by_the_rules


@require_POST
@login_required
@by_the_rules
def draft(request: PersonRequest, code: str) -> HttpResponse:
    """Keep what the form holds, and say what it would change. Without a script: back to the page, which shows both."""
    task = case_page.visible_task(request, code)
    panel = casefile.panel(request.user, task, now=current())
    if not panel.verdicts:
        raise PermissionDenied(" ".join(panel.why_not.values()))
    if request.POST.get("drop") == "1":
        drafts.forget(task, by=request.user)
        return _to(task)
    kept = drafts.keep(task, by=request.user, post=request.POST, now=current())
    if not request.htmx:
        messages.success(request, _("The draft is kept."))
        return _to(task)
    sheet = panel.blank().sheet(request.POST, kept_at=kept.saved_at)
    return render(request, "approvals/_draft.html", {"sheet": sheet, "task": task, "now": current()})


@require_POST
@login_required
def reading_now(request: PersonRequest, code: str) -> HttpResponse:
    """An open page says that it is open, every few seconds, and hears who else has it open."""
    case, now = permissions.visible_cases(request.user).filter(code=code).first(), current()
    if case is None:
        raise Http404
    shown = request.GET.get("task", "")  # of a long case, whose page shows one
    reading.here(request.user, case, shown=shown, now=now)
    context = {"case": case, "shown": shown, "readers": reading.others(request.user, case, now=now)}
    return render(request, "approvals/_readers.html", context)


@require_POST
@login_required
@by_the_rules
def note(request: PersonRequest, code: str) -> HttpResponse:
    task = case_page.visible_task(request, code)
    try:
        notes.add(task, by=request.user, text=request.POST.get("note", ""), now=current())
    except Refused as refused:
        messages.error(request, str(refused))
        return case_page.drawn(request, case_page.found(request, task.case.code, on=code), status=refused.status)
    return case_page.back_to(request, task.case, task.code)


@require_safe
@login_required
@by_the_rules
def precedents(request: PersonRequest, code: str) -> HttpResponse:
    """What was decided about the same tool; a fragment for the fold of the case page, or a page of its own."""
    task = case_page.visible_task(request, code)
    panel = casefile.panel(request.user, task, now=current())
    context = {
        "task": task, "exhibit": panel.exhibit, "now": current(),
        "precedents": siblings.precedents(request.user, task, panel.exhibit),
    }  # fmt: skip
    return render(request, f"approvals/{'_precedents' if request.htmx else 'precedents'}.html", context)


def _to(task: Task) -> HttpResponse:
    return HttpResponseRedirect(casefile.address(task.case, task.code), status=303)

"""Beside the decision: drafts, notes, who is reading, and what was decided before. Nothing here decides."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.timezone import now as current
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from approvals.desk import casefile, siblings
from approvals.desk.panels import Panel
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
    panel = _panel(request, task)
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
    file, now = case_page.found(request, code), current()
    reading.here(request.user, file.case, now=now)
    context = {"case": file.case, "readers": reading.others(request.user, file.case, now=now)}
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
        return case_page.drawn(
            request, casefile.with_sheets(case_page.found(request, task.case.code)), status=refused.status
        )
    return case_page.back_to(request, task.case, task.code) if request.htmx else _to(task)


@require_safe
@login_required
@by_the_rules
def precedents(request: PersonRequest, code: str) -> HttpResponse:
    """What was decided about the same tool; a fragment for the fold of the case page, or a page of its own."""
    task = case_page.visible_task(request, code)
    panel = _panel(request, task)
    context = {
        "task": task, "exhibit": panel.exhibit, "now": current(),
        "precedents": siblings.precedents(request.user, task, panel.exhibit),
    }  # fmt: skip
    return render(request, f"approvals/{'_precedents' if request.htmx else 'precedents'}.html", context)


def _panel(request: PersonRequest, task: Task) -> Panel:
    file = case_page.found(request, task.case.code)
    return next(panel for panel in file.panels if panel.task.pk == task.pk)


def _to(task: Task) -> HttpResponse:
    return HttpResponseRedirect(reverse("case", args=[task.case.code]) + f"#task-{task.code}", status=303)

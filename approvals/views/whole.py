"""A long part of a question, whole: a page holds the beginning of it and its size, and brings the rest on demand."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.timezone import now as current
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from approvals import exhibits
from approvals.desk import casefile
from approvals.exhibits import Content
from approvals.models import Task
from approvals.requests import PersonRequest
from approvals.verbs import opening
from approvals.views.case import found, row, visible_task
from approvals.views.hidden import by_the_rules

TITLES = {
    "message": _("What the agent says"),
    "arguments": _("Arguments"),
    "conversation": _("Conversation before the pause"),
    "state": _("State of the agent"),
    "tool": _("Tool as the agent described it"),
    "schema": _("Shape of the answer, as the agent asks for it"),
    "metadata": _("More that came with the question"),
}


@require_safe
@login_required
@vary_on_headers("HX-Request")
@by_the_rules
def text(request: PersonRequest, code: str, part: str) -> HttpResponse:
    task = visible_task(request, code)
    exhibit = exhibits.load(task.body_of(task.shown_digest))
    told = part_of(exhibit, part)
    if not told:
        raise Http404
    context = {"task": task, "title": TITLES[part], "text": told, "is_json": part != "message"}
    if request.method == "GET" and opening.record(task, exhibit, [part], by=request.user, now=current()):
        context |= {"row": answerable(request, task)}
    return render(request, f"approvals/{'_whole' if request.htmx else 'whole'}.html", context)


def answerable(request: PersonRequest, task: Task) -> dict[str, Any]:
    """The task as it can be answered now that this was opened."""
    file = casefile.with_sheets(found(request, task.case.code, on=task.code))
    return next(row(panel) for panel in file.panels if panel.task.pk == task.pk)


def part_of(exhibit: Content, part: str) -> str | None:
    return {
        "message": exhibit.message,
        "arguments": exhibit.tool.args_text if exhibit.tool else None,
        "conversation": f"[{','.join(exhibit.messages)}]" if exhibit.messages else None,
        "state": exhibit.state,
        "tool": exhibit.tool_definition,
        "schema": exhibit.response_schema,
        "metadata": exhibit.metadata,
    }.get(part)

"""The round between typing and deciding: the other half of a form follows, and what would change is told."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.timezone import now as current
from django.views.decorators.http import require_POST

from approvals.desk import casefile
from approvals.forms import FieldTree
from approvals.requests import PersonRequest
from approvals.views.case import visible_task
from approvals.views.hidden import by_the_rules


@require_POST
@login_required
@by_the_rules
def preview(request: PersonRequest, code: str) -> HttpResponse:
    """Fragments only. Nothing is decided or kept, whatever was posted."""
    task = visible_task(request, code)
    panel = casefile.panel(request.user, task, now=current())
    verb, _, prefix = request.POST.get("action", "").partition(":")
    sheet = panel.blank().sheet(request.POST)
    trees = [tree for tree in (sheet.edits, sheet.whole, sheet.members) if tree and tree.prefix == prefix]
    if not trees or not panel.is_answerable:
        raise PermissionDenied
    context = {"tree": trees[0], "task": task, "follows": follows(verb, trees[0])}
    return render(request, "approvals/fields/_round.html", context)


def follows(verb: str, tree: FieldTree) -> str:
    """Which half is drawn again: never the one that is being typed in, and none over what cannot be read."""
    if tree.only_raw or tree.problems or tree.raw_problems:
        return ""
    return {"to-raw": "raw", "to-fields": "fields"}.get(verb, "")

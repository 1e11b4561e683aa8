"""The case file: read it, decide its tasks, take decisions back. One view answers page and fragment."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.timezone import now as current
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRedirect

from approvals import forms, permissions, reviewing
from approvals.desk import casefile, longcase, presenting, states
from approvals.desk.answersheet import SecondLook
from approvals.desk.casefile import CaseFile, Panel
from approvals.models import Case, Decision, Queue, Task, User
from approvals.models.cases import State
from approvals.refusals import Invalid, Refused
from approvals.requests import PersonRequest
from approvals.trail import attempts, sightings, trailpage
from approvals.verbs import answering, drafts, friction, notes, opening, reading
from approvals.verbs.answering import Given
from approvals.views import hidden

LONGEST_KEY = 100  # of what the page itself made


@require_safe
@login_required
@vary_on_headers("HX-Request")
@hidden.by_the_rules
def case(request: PersonRequest, code: str) -> HttpResponse:
    file = found(request, code, on=request.GET.get("task", ""), listed_from=number(request.GET.get("from", "")))
    if not (request.htmx and sightings.is_reader(request.user)):  # a page that renews itself is the same look
        seen = [panel.task for panel in file.panels]
        told = sightings.opened(file.case, seen, by=request.user, now=current())
        file = replace(file, cursor=sightings.cursor_after(file.cursor, told))
    notes.seen(request.user, [panel.task.pk for panel in file.panels], now=current())
    return drawn(request, file)


@require_POST
@login_required
@hidden.by_the_rules
def decide(request: PersonRequest, code: str) -> HttpResponse:
    """Record the decision, or show the form again: 422 with what is wrong, 409 with who was faster."""
    task = visible_task(request, code)
    panel = casefile.panel(request.user, task, now=current())
    if forms.is_structural(request.POST):
        return as_posted(request, task)
    try:
        given = panel.blank().read(request.POST)
        asked: dict[str, Any] = {"by": request.user, "verdict": given.verdict, "now": current()}
        if look := second_look(task, panel=panel, given=given, post=request.POST, **asked):
            return as_posted(request, task, second_look=look)
        decision = reviewing.decide(task, by=request.user, now=current(), **deed(request, given))
    except Invalid as invalid:
        problems = [panel.blank().in_form(problem, request.POST) for problem in invalid.problems]
        return as_posted(request, task, problems=problems, status=invalid.status)
    except Refused as refused:
        # What was typed is still there when the page comes back, and after the other one is recalled.
        if panel.verdicts:
            drafts.keep(task, by=request.user, post=request.POST, now=current())
        return told(request, task.case, refused, on=code)
    drafts.forget(task, by=request.user)
    return after(request, task, decision)


@require_POST
@login_required
@hidden.by_the_rules
def recall(request: PersonRequest, code: str) -> HttpResponse:
    """Take back one's own decision on a task, or on the whole case."""
    wanted = request.POST.get("task", "")
    file = found(request, code, on=wanted)
    task = next((panel.task for panel in file.panels if panel.task.code == wanted), None)
    if wanted and task is None:
        raise Http404
    try:
        reviewing.recall(file.case, by=request.user, task=task, now=current())
    except Refused as refused:
        return told(request, file.case, refused, on=wanted)
    messages.success(request, _("Recalled: it can be decided again."))
    return back_to(request, file.case, task.code if task else "")


def found(request: PersonRequest, code: str, *, on: str = "", listed_from: int = 0) -> CaseFile:
    """`on`, `listed_from`: of a long case, the task that is drawn and the page of the list beside it."""
    file = casefile.read(request.user, code, on=on, listed_from=listed_from, now=current())
    if file is None:
        raise Http404
    return file


def number(text: str) -> int:
    """Of an address; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def visible_task(request: PersonRequest, code: str) -> Task:
    task = permissions.visible_task(request.user, code)
    if task is None:
        raise Http404
    return task


@attempts.told("decide")
def second_look(
    task: Task, *, panel: Panel, given: Given, post: Mapping[str, str], by: User, verdict: str, now: datetime
) -> SecondLook | None:
    """What to show once more before it counts; None where it counts at once. Raises Invalid for what is missing."""
    is_current = panel.is_answerable and post.get("shown_digest") == task.shown_digest
    if not friction.needs_second_look(task.queue, verdict) or not is_current:
        return None
    if missing := friction.problems(panel.exhibit, given, post):
        raise Invalid(missing)
    answer = answering.prepare(given, kit=panel.kit, exhibit=panel.exhibit, queue=task.queue)
    if friction.was_looked_at(post.get("confirmed", ""), task, by, given):
        return None
    return SecondLook(verdict=verdict, token=friction.second_look(task, by, given), answer=answer.answer)


def deed(request: PersonRequest, given: Given) -> dict[str, Any]:
    """What `decide` is told. The key names this rendering and what was said: the same twice is one decision."""
    said = (given.verdict, given.edits, given.input, given.comment, given.reason_code)
    told = repr(said).encode("utf-8", "surrogatepass")
    key = request.POST.get("idempotency_key", "")[:LONGEST_KEY]
    return {
        "verdict": given.verdict,
        "edits": given.edits,
        "input": given.input,
        "comment": given.comment,
        "reason_code": given.reason_code,
        "shown_digest": request.POST.get("shown_digest", ""),
        "idempotency_key": f"{key}:{hashlib.sha256(told).hexdigest()[:32]}" if key else "",
    }


def after(request: PersonRequest, task: Task, decision: Decision) -> HttpResponse:
    """On to the next open task of the case; the page itself offers the next case."""
    if decision.recalled_at or decision.voided_at:
        messages.warning(request, _("This decision no longer counts. Decide again."))
        return back_to(request, task.case, task.code)
    messages.success(
        request, _("%(code)s: %(verdict)s.") % {"code": task.code, "verdict": states.look(decision.verdict).word}
    )
    is_long = longcase.is_long(task.case)
    if request.htmx and not is_long:
        file = found(request, task.case.code)
        return drawn(request, file, focus=file.next_open.task.code if file.next_open else task.case.code)
    place, is_over = task.position if is_long else -1, decision.task.case.state != State.OPEN
    following = None if is_over else longcase.next_waiting(request.user, task.case, after=place, now=current())
    if not request.htmx:
        return HttpResponseRedirect(casefile.address(task.case, (following or task).code), status=303)
    # A browser that is sent to where it is already stays as it is: another task, or the top.
    part = "head" if following else ""
    return HttpResponseClientRedirect(casefile.address(task.case, (following or task).code, part=part))


def as_posted(request: PersonRequest, task: Task, *, status: int = 200, **also: Any) -> HttpResponse:
    """The case as it now is, its form on this task as it was posted. `also`: the problems, or the second look."""
    file = found(request, task.case.code, on=task.code)
    return drawn(request, file, status=status, focus=task.code, posted=request.POST, on=task.code, **also)


def told(request: PersonRequest, about: Case, refused: Refused, *, on: str = "") -> HttpResponse:
    """The case as it now is, with the sentence that says why not."""
    messages.error(request, str(refused))
    return drawn(request, found(request, about.code, on=on), status=refused.status)


def back_to(request: PersonRequest, about: Case, task: str) -> HttpResponse:
    if request.htmx:
        return drawn(request, found(request, about.code, on=task), focus=task)
    return HttpResponseRedirect(casefile.address(about, task), status=303)


def drawn(request: PersonRequest, file: CaseFile, *, status: int = 200, focus: str = "", **sheets: Any) -> HttpResponse:
    """The page, or what of it is swapped in; either with the same values hidden.

    `focus`: the task, or the case, whose heading a keyboard should be on next; `sheets`: as for `casefile.with_sheets`.
    """
    template = "approvals/_case_update.html" if request.htmx else "approvals/case.html"
    with hidden.around(request, file):
        context = page(request, casefile.with_sheets(file, **sheets), now=current())
        return render(request, template, {**context, "focus": focus}, status=status)


def page(request: PersonRequest, file: CaseFile, *, now: datetime) -> dict[str, Any]:
    """What the templates of the page are told."""
    return {
        "now": now,
        "cursor": file.cursor,
        "topics": f"case:{file.case.code}",
        "file": file,
        "case": file.case,
        "rows": [row(part) for part in file.parts],
        "notices": presenting.notices(file),
        "chain": presenting.chain(file, now=now),
        "entries": told_of(request, file),
        "hidden": hidden.look(request, file),
        "shown": file.long.task.code if file.long else "",
        "readers": reading.others(request.user, file.case, now=now),
        "may_note": notes.may_write(request.user) is None,
        "next_task": None if file.waits else casefile.next_in_queue(request.user, beside=file.case, now=now),
    }


def told_of(request: PersonRequest, file: CaseFile) -> list[trailpage.Row]:
    long = file.long
    return trailpage.around(request.user, long.task) if long else trailpage.of_case(request.user, file.case)


def row(part: Panel | casefile.Closed) -> dict[str, Any]:
    """A task with what the templates say about it."""
    if not isinstance(part, Panel):
        return {"part": part, "task": part.task, "is_closed": True}
    arguments = presenting.arguments(part)
    return {
        "part": part,
        "task": part.task,
        "is_closed": False,
        "buttons": presenting.buttons(part) if part.sheet else [],
        "proposal": presenting.proposal(part),
        "arguments": arguments[: presenting.MOST_ARGUMENTS],
        "argument_count": len(arguments),
        "unread": opening.sentence(part.unread) if part.unread else "",
        "why_not": list(dict.fromkeys(part.why_not.values())),
        "why_read_only": presenting.why_read_only(part),
        "arguments_note": presenting.arguments_note(part),
        "messages": presenting.messages(part),
        "room": presenting.room(part),
        "is_light": part.task.queue.risk == Queue.Risk.LOW,
        "carried": presenting.carried(part),
        "reason_words": presenting.reason_words(part),
    }

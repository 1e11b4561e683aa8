"""Queues and how they decide, for administrators. The verbs check again."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.timezone import now as current
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from approvals.desk import queueform
from approvals.models import MaskRule, Queue
from approvals.refusals import Invalid, NotAllowed
from approvals.requests import PersonRequest
from approvals.verbs import queuerules
from approvals.verbs.queuerules import Loosens, Rules, Stale
from approvals.views.refusing import administrators_only, is_done


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def queues(request: PersonRequest) -> HttpResponse:
    """The list; posting a name to it makes a queue."""
    administrators_only(request)
    problem = ""
    if request.method == "POST":
        try:
            made = queuerules.make(request.POST.get("name", ""), by=request.user, now=current())
        except NotAllowed as refused:
            raise PermissionDenied(str(refused)) from None
        except Invalid as invalid:
            problem = invalid.problems[0].message
        else:
            messages.success(request, _("Made. Say how it decides, and who."))
            return to_queue(made)
    context = {"queues": queueform.overview(), "problem": problem, "name": request.POST.get("name", "")}
    return render(request, "approvals/queues.html", context, status=422 if problem else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def queue_rules(request: PersonRequest, number: int) -> HttpResponse:
    administrators_only(request)
    queue = get_object_or_404(Queue, pk=number)
    if request.method != "POST":
        return rules_page(request, queue, Rules.of(queue))
    wanted = queueform.posted(request.POST)
    try:
        changed = queuerules.change(
            queue, wanted, seen=request.POST.get("seen", ""), agreed=request.POST.getlist("agreed"),
            because=request.POST.get("reason", ""), by=request.user, now=current(),
        )  # fmt: skip
    except NotAllowed as refused:
        raise PermissionDenied(str(refused)) from None
    except Stale as stale:
        return overtaken(request, queue, wanted, stale)
    except Loosens as loosens:
        return rules_page(request, queue, wanted, 422, loosens=loosens.sentences)
    except Invalid as invalid:
        said = {problem.pointer.lstrip("/"): problem.message for problem in invalid.problems}
        return rules_page(request, queue, wanted, 422, said=said)
    messages.success(request, _("Saved.") if changed else _("Nothing was different."))
    return to_queue(queue)


@require_POST
@login_required
def queue_hidden(request: PersonRequest, number: int) -> HttpResponse:
    """Hide values of one more kind, or (`rule`) no longer those of one."""
    administrators_only(request)
    queue, post = get_object_or_404(Queue, pk=number), request.POST
    rule = next((one for one in MaskRule.objects.filter(queue=queue) if str(one.pk) == post.get("rule")), None)
    name, looks = (rule.by_name, rule.by_looks) if rule else (post.get("name", ""), post.get("looks", ""))
    if is_done(request, lambda: queuerules.set_hidden(
        queue, name=name, looks=looks, agent=rule.agent if rule else "", remove=rule is not None,
        because=post.get("reason", ""), by=request.user, now=current(),
    )):  # fmt: skip
        messages.success(request, _("These values are shown again.") if rule else _("These values are hidden now."))
    return to_queue(queue, "#hidden")


def overtaken(request: PersonRequest, queue: Queue, wanted: Rules, stale: Stale) -> HttpResponse:
    """What the other person changed, and the form with what this one wants over it."""
    now = Rules.of(queue)
    before = queuerules.read(request.POST.get("seen", ""))
    chosen = queuerules.merged(before, wanted, now) if before else now
    return rules_page(request, queue, chosen, 409, overtaken=stale)


def rules_page(request: PersonRequest, queue: Queue, chosen: Rules, status: int = 200, **more: Any) -> HttpResponse:
    """`chosen` is what the form shows; what the queue has stays beside it."""
    current_rules = Rules.of(queue)
    # A form that was not overtaken stays one of the rules that it was drawn from.
    seen = request.POST.get("seen", "") if status == 422 else current_rules.text
    context = {
        "queue": queue, "chosen": chosen, "codes": queueform.code_lines(chosen), "seen": seen,
        "risks": queueform.risks(), "candidates": queueform.candidates(current_rules),
        "reason": request.POST.get("reason", ""), "hidden": MaskRule.objects.filter(queue=queue).order_by("pk"),
        "agreed": request.POST.getlist("agreed"), **more,
    }  # fmt: skip
    return render(request, "approvals/queue_rules.html", context, status=status)


def to_queue(queue: Queue, place: str = "") -> HttpResponse:
    return HttpResponseRedirect(reverse("queue-rules", args=[queue.pk]) + place, status=303)

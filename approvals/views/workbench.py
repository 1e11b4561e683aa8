"""What auditors keep: saved questions, samples drawn by a seed, findings."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.timezone import now as current
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from approvals import permissions
from approvals.models import AuditEntry, Case, Finding, Sample, SavedQuestion, Task
from approvals.refusals import Invalid
from approvals.requests import PersonRequest
from approvals.views import audit as page
from approvals.views.refusing import is_done
from approvals.workbench import findings, question, questions, sampling

PAGE = 100


@require_POST
@login_required
def question_save(request: PersonRequest) -> HttpResponse:
    words, name = request.POST.get("words", ""), request.POST.get("name", "")
    try:
        questions.save(words, name=name, shared="shared" in request.POST, by=request.user, now=current())
    except Invalid as invalid:
        messages.error(request, str(invalid.problems[0].message))
    return to_audit(question.read(words).words)


@require_POST
@login_required
def question_forget(request: PersonRequest, number: int) -> HttpResponse:
    saved = get_object_or_404(SavedQuestion, pk=number, owner=request.user)
    questions.forget(saved, by=request.user)
    return to_audit("")


@require_POST
@login_required
def sample_draw(request: PersonRequest) -> HttpResponse:
    """Draw, keep and show; what is wrong is said on the page of the question."""
    refuse(sampling.may_draw(request.user))
    asked = question.read(request.POST.get("words", ""))
    size = page.place(request.POST.get("size", ""))
    try:
        sample = sampling.draw(
            asked, seed=request.POST.get("seed", ""), size=size or 0, each=request.POST.get("each", ""),
            by=request.user, now=current(),
        )  # fmt: skip
    except Invalid as invalid:
        for problem in invalid.problems:
            messages.error(request, str(problem.message))
        return to_audit(asked.words)
    return HttpResponseRedirect(reverse("sample-page", args=[sample.pk]), status=303)


@require_safe
@login_required
def sample_page(request: PersonRequest, number: int) -> HttpResponse:
    sample = found_sample(request, number)
    codes = [code for code, _task, _at in sample.drawn]
    tasks = Task.objects.select_related("queue", "case").in_bulk([task for _c, task, _at in sample.drawn],
                                                                 field_name="code")  # fmt: skip
    opened = AuditEntry.objects.filter(verb="case.viewed", case__code__in=codes, actor=request.user, at__gte=sample.at)
    read = set(opened.values_list("case__code", flat=True))
    noted = set(Finding.objects.filter(case__code__in=codes).values_list("case__code", flat=True))
    rows = [
        {"case": code, "task": tasks.get(task), "at": at, "read": code in read, "noted": code in noted}
        for code, task, at in sample.drawn
    ]
    context = {
        "sample": sample, "rows": rows, "read": sum(row["read"] for row in rows), "section": "audit",
        "asked": question.read(sample.words), "algorithm": sampling.ALGORITHM,
    }  # fmt: skip
    return render(request, "approvals/sample.html", context)


@require_safe
@login_required
def finding_list(request: PersonRequest) -> HttpResponse:
    """Open ones first, newest first."""
    refuse(None if findings.may_read(request.user) else _("Findings are for auditors."))
    found = Finding.objects.select_related("case", "by", "closed_by").order_by("-pk")
    state = request.GET.get("state", "open")
    shown = found.filter(closed_at__isnull=state != "closed") if state != "all" else found
    context = {
        "findings": shown[:PAGE], "state": state, "section": "audit",
        "may_note": findings.may_write(request.user) is None, "with_case": True, "number": shown.count(),
    }  # fmt: skip
    return render(request, "approvals/finding_list.html", context)


@require_POST
@login_required
def finding_note(request: PersonRequest, code: str) -> HttpResponse:
    case = permissions.visible_cases(request.user).filter(code=code).first()
    if case is None:
        raise Http404
    seq = page.place(request.POST.get("seq", ""))
    return after(request, case, lambda: findings.note(
        case, text=request.POST.get("text", ""), seq=seq, by=request.user, now=current()))  # fmt: skip


@require_POST
@login_required
def finding_close(request: PersonRequest, number: int) -> HttpResponse:
    if not findings.may_read(request.user):
        raise Http404
    finding = get_object_or_404(Finding.objects.select_related("case"), pk=number)
    return after(request, finding.case, lambda: findings.close(
        finding, reason=request.POST.get("reason", ""), by=request.user, now=current()))  # fmt: skip


def after(request: PersonRequest, case: Case, deed: Any) -> HttpResponse:
    """Back to the record of the case, with the sentence that says why not where it was refused."""
    is_done(request, deed)
    return HttpResponseRedirect(reverse("case-record", args=[case.code]) + f"#findings-of-{case.code}", status=303)


def found_sample(request: PersonRequest, number: int) -> Sample:
    if sampling.may_draw(request.user) is not None:
        raise Http404
    return get_object_or_404(Sample.objects.select_related("by"), pk=number)


def refuse(sentence: str | None) -> None:
    if sentence:
        raise PermissionDenied(sentence)


def to_audit(words: str) -> HttpResponse:
    return HttpResponseRedirect(reverse("audit") + (f"?{words}" if words else ""), status=303)

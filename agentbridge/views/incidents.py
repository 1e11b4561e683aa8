"""Closing an incident from a page: somebody looked at it and says what came of it."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from agentbridge import links, visibility
from agentbridge.delivery import incidents
from agentbridge.views.cases import delivery_page, find_case
from approvals.refusals import Refused
from approvals.requests import PersonRequest


@require_POST
@login_required
def incident_close(request: PersonRequest, number: int) -> HttpResponse:
    """Back to where they came from, or the case's delivery with the refusal."""
    seen = visibility.incidents(request.user).select_related("case", "task")
    incident = seen.filter(pk=number).first() if number < 2**63 else None
    if incident is None:
        raise Http404
    code, reason = incident.case.code, request.POST.get("reason", "").strip()
    try:
        incidents.close(incident, by=request.user, reason=reason, now=timezone.now())
    except Refused as refused:
        return delivery_page(request, find_case(request, code), refused=refused, on=number)
    back = reverse("delivery-list") if request.POST.get("back") == "deliveries" else links.case_page(code)
    return HttpResponseRedirect(back, status=303)

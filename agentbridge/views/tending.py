"""Looking after agents: registering, changing, tokens, on and off, the replay class, and “Test connection”."""

from __future__ import annotations

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from agentbridge import checking, registering, tending, wording
from agentbridge.delivery import ledger
from agentbridge.forms import AgentForm
from agentbridge.models import Agent
from agentbridge.models.agents import ReplayClass
from agentbridge.registering import BadAgent
from agentbridge.views.agents import agent_page, find_agent
from approvals import permissions
from approvals.refusals import Refused
from approvals.requests import PersonRequest
from approvals.views.refusing import administrators_only


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def agent_new(request: PersonRequest) -> HttpResponse:
    """Register an agent. Its tokens are on the answering page and nowhere else."""
    administrators_only(request)
    form = AgentForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return form_page(request, form)
    try:
        agent, tokens = registering.add(form.wanted(), by=request.user, now=timezone.now())
    except BadAgent as reason:
        form.refuse(reason)
        return form_page(request, form)
    messages.success(request, _("Registered. Look whether it answers: test the connection."))
    return agent_page(request, find_agent(request, agent.slug), tokens=tokens)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def agent_edit(request: PersonRequest, slug: str) -> HttpResponse:
    agent = find_agent(request, slug)
    administrators_only(request)
    form = AgentForm(request.POST if request.method == "POST" else None, agent=agent)
    if not form.is_valid():
        return form_page(request, form)
    try:
        changed = registering.change(agent, form.wanted(), by=request.user, now=timezone.now())
    except BadAgent as reason:
        form.refuse(reason)
        return form_page(request, form)
    tell(request, find_agent(request, slug), changed)
    return to_agent(slug)


@require_POST
@login_required
def agent_token(request: PersonRequest, slug: str) -> HttpResponse:
    """A new host or caller token, shown once."""
    agent = find_agent(request, slug)
    try:
        tokens = tending.rotate(agent, kind=request.POST.get("kind", ""), by=request.user, now=timezone.now())
    except Refused as refused:
        return said_no(request, agent, refused)
    return agent_page(request, agent, tokens=tokens)


@require_POST
@login_required
def agent_switch(request: PersonRequest, slug: str) -> HttpResponse:
    agent, on = find_agent(request, slug), request.POST.get("to") == "on"
    try:
        tending.switch(agent, on=on, by=request.user, now=timezone.now())
    except Refused as refused:
        return said_no(request, agent, refused)
    return to_agent(slug)


@require_POST
@login_required
def agent_replay(request: PersonRequest, slug: str) -> HttpResponse:
    agent = find_agent(request, slug)
    replay, reason = request.POST.get("replay", ""), request.POST.get("reason", "").strip()
    try:
        tending.set_replay(agent, replay=replay, reason=reason, by=request.user, now=timezone.now())
    except Refused as refused:
        return said_no(request, agent, refused)
    messages.success(request, _("The replay class is set, and your reason is on the trail."))
    return to_agent(slug)


@require_POST
@login_required
def agent_test(request: PersonRequest, slug: str) -> HttpResponse:
    """Connect from here, for at most ten seconds; no transaction is open meanwhile."""
    agent = find_agent(request, slug)
    refusal = permissions.may_tend(request.user)
    if refusal:
        raise PermissionDenied(refusal)
    found = async_to_sync(checking.check)(agent)
    try:
        tending.record_test(agent, outcome=found.agent.outcome, by=request.user, now=timezone.now())
    except Refused as refused:
        return said_no(request, agent, refused)
    return agent_page(request, agent, check=found)


def form_page(request: PersonRequest, form: AgentForm) -> HttpResponse:
    context = {
        "form": form, "agent": form.agent, "dialects": wording.DIALECT.items(), "replays": wording.REPLAY.items(),
        "tolerances": wording.TOLERANCES.items(), "headers": form.agent.header_count if form.agent else 0,
    }  # fmt: skip
    return render(request, "agentbridge/agent_form.html", context, status=422 if form.is_bound else 200)


def said_no(request: PersonRequest, agent: Agent, refused: Refused) -> HttpResponse:
    messages.error(request, str(refused))
    return agent_page(request, agent, status=refused.status)


def to_agent(slug: str) -> HttpResponse:
    return HttpResponseRedirect(reverse("agent-page", args=[slug]), status=303)


def tell(request: PersonRequest, agent: Agent, changed: list[str]) -> None:
    """What saving did, beside what was typed."""
    messages.success(request, _("Saved.") if changed else _("Nothing was different."))
    if "url" not in changed:
        return
    if "headers" in changed and not agent.headers:
        messages.warning(request, _("The headers belonged to the old address and are gone. Set them anew if needed."))
    if "replay_class" in changed and agent.replay_class == ReplayClass.UNKNOWN:
        messages.warning(request, _("The replay class was proven for the old address and is unknown again."))
    waiting = ledger.bound_elsewhere(agent).count()
    if waiting:
        text = ngettext(
            "%(count)d delivery was sealed for the old address. An operator has to send it to the new one.",
            "%(count)d deliveries were sealed for the old address. An operator has to send them to the new one.",
            waiting,
        )
        messages.warning(request, text % {"count": waiting})

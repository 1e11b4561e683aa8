"""Agents: what is known of each, its runs, and asking it for a new one."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from agentbridge import links, starting, visibility, wording
from agentbridge.models import Agent, Run
from agentbridge.views import rows
from approvals import permissions
from approvals.models.people import Role
from approvals.refusals import Refused
from approvals.requests import PersonRequest

RUNS = 50


@require_safe
@login_required
def agent_list(request: PersonRequest) -> HttpResponse:
    running = Count("threads__runs", filter=Q(threads__runs__status__in=["queued", "running"]))
    agents = visibility.agents(request.user).select_related("queue").annotate(running=running).order_by("name", "pk")
    return render(request, "agentbridge/agent_list.html", {"agents": agents})


@require_safe
@login_required
def agent_detail(request: PersonRequest, slug: str) -> HttpResponse:
    """Facts and runs. `?before=` goes on from a run of the list, `?all=1` shows those that were never sent."""
    return agent_page(request, find_agent(request, slug))


@require_POST
@login_required
def agent_start(request: PersonRequest, slug: str) -> HttpResponse:
    """Queue a run with a message; a refusal comes back on the page with what is open on the thread."""
    agent = find_agent(request, slug)
    thread, message = request.POST.get("thread", "").strip(), request.POST.get("message", "")
    try:
        run = starting.start(agent, thread_id=thread or None, message=message, by=request.user, now=timezone.now())
    except Refused as refused:
        return agent_page(request, agent, refused=refused, thread=thread, message=message)
    return HttpResponseRedirect(links.run_page(run))


def find_agent(request: PersonRequest, slug: str) -> Agent:
    agent = visibility.agents(request.user).select_related("queue").filter(slug=slug).first()
    if agent is None:
        raise Http404
    return agent


def agent_page(request: PersonRequest, agent: Agent, *, refused: Refused | None = None, **typed: str) -> HttpResponse:
    runs, older = runs_of(request, agent)
    context: dict[str, Any] = {
        "agent": agent, "headers": len(json.loads(agent.headers or "[]")), "routes": sorted(agent.routes.items()),
        "replay": wording.REPLAY[agent.replay_class], "runs": [rows.of_run(run) for run in runs], "older": older,
        "may_start": permissions.role_of(request.user) in (Role.REVIEWER, Role.OPERATOR) and agent.enabled,
        "refused": refused, "typed": typed, "open_cases": getattr(refused, "cases", ()),
    }  # fmt: skip
    return render(request, "agentbridge/agent_page.html", context, status=refused.status if refused else 200)


def runs_of(request: PersonRequest, agent: Agent) -> tuple[list[Run], int | None]:
    """One page of the agent's runs, newest first, and where the next begins."""
    found = visibility.runs(request.user).filter(thread__agent=agent).select_related("thread__agent")
    if request.GET.get("all") != "1":
        found = found.exclude(status=Run.Status.UNSENT)
    before = request.GET.get("before", "")
    if before.isascii() and before.isdecimal() and len(before) < 19:
        found = found.filter(pk__lt=int(before))
    page = list(found.defer("input", "snapshot").order_by("-pk")[: RUNS + 1])
    return page[:RUNS], page[RUNS - 1].pk if len(page) > RUNS else None

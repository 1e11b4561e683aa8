"""Agents: what is known of each, its runs, and asking it for a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Count, OuterRef, Subquery
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from agentbridge import checking, links, visibility, wording
from agentbridge.checking import Check
from agentbridge.delivery import ledger, standing
from agentbridge.models import Agent, Run
from agentbridge.models.agents import ReplayClass
from agentbridge.runs import protocolreport, starting
from agentbridge.tending import Tokens
from agentbridge.views import rows
from approvals import permissions
from approvals.models import User
from approvals.models.people import Role
from approvals.refusals import Refused
from approvals.requests import PersonRequest

RUNS = 50


@dataclass(frozen=True)
class AgentRow:
    """An agent in the list, with what waits for people and how it did last, as far as this person may see it."""

    agent: Agent
    open_questions: int
    last: rows.RunRow | None


@require_safe
@login_required
def agent_list(request: PersonRequest) -> HttpResponse:
    user = request.user
    last = visibility.runs(user).filter(thread__agent=OuterRef("pk")).exclude(status=Run.Status.UNSENT)
    agents = visibility.agents(user).select_related("queue").order_by("name", "pk")
    agents = agents.annotate(last_run=Subquery(last.order_by("-pk").values("pk")[:1]))
    found = Run.objects.filter(pk__in=[agent.last_run for agent in agents]).select_related("thread__agent")
    runs = {run.thread.agent_id: rows.of_run(run) for run in found.defer("input", "snapshot")}
    tasks = permissions.visible_tasks(user).open(timezone.now())
    asked = dict(tasks.values_list("agent").annotate(Count("pk")).order_by())
    listed = [AgentRow(agent, asked.get(agent.slug, 0), runs.get(agent.pk)) for agent in agents]
    context = {"rows": listed, "may_add": permissions.may_administer(user) is None}
    return render(request, "agentbridge/agent_list.html", context)


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


def agent_page(
    request: PersonRequest, agent: Agent, *, refused: Refused | None = None, status: int = 200,
    check: Check | None = None, tokens: Tokens | None = None, **typed: str,
) -> HttpResponse:  # fmt: skip
    """The page, with what the last step brought: a refused start, a connection test, or tokens to be seen once."""
    runs, older = runs_of(request, agent)
    context: dict[str, Any] = {
        "agent": agent, **facts(agent), **rights(request.user, agent), "report": report(agent, request.user),
        "runs": [rows.of_run(run) for run in runs], "older": older, "elsewhere": ledger.bound_elsewhere(agent).count(),
        "check": check, "check_sign": wording.CHECK[check.agent.outcome] if check else None, "tokens": tokens,
        "probe": checking.PROBE.decode(),
        "refused": refused, "typed": typed, "open_cases": getattr(refused, "cases", ()),
    }  # fmt: skip
    return render(request, "agentbridge/agent_page.html", context, status=refused.status if refused else status)


def facts(agent: Agent) -> dict[str, Any]:
    """What is known of an agent, with what each setting means."""
    return {
        "headers": agent.header_count,
        "routes": sorted(agent.routes.items()),
        "dialect": wording.DIALECT.get(agent.dialect, ""),
        "replay": wording.REPLAY[agent.replay_class],
        "lapsed": wording.LAPSED.get(standing.lapsed(agent, now=timezone.now()), ""),
        "replays": wording.REPLAY.items(),
        "tolerances": [(name, wording.TOLERANCES.get(name, "")) for name in agent.tolerances],
        "probe_lines": probe_lines(agent),
        "probe_class": ReplayClass(agent.probe["class"]).label if agent.probe else "",
    }


def probe_lines(agent: Agent) -> list[dict[str, Any]]:
    """What the last probe found, check by check, in words."""
    checks = (agent.probe or {}).get("checks", [])
    return [
        {
            "name": check["check"],
            "title": wording.PROBE_CHECKS.get(check["check"], check["title"]),
            "sign": wording.PROBE_RESULTS[check["result"]],
            "evidence": check["evidence"],
        }
        for check in checks
    ]


def rights(user: User, agent: Agent) -> dict[str, bool]:
    return {
        "may_start": permissions.role_of(user) in (Role.REVIEWER, Role.OPERATOR) and agent.enabled,
        "may_tend": permissions.may_tend(user) is None,
        "may_administer": permissions.may_administer(user) is None,
    }


def report(agent: Agent, user: User) -> list[dict[str, Any]]:
    """The protocol report's lines with their words."""
    return [
        {
            "note": line.note,
            "sign": wording.SEVERITY.get(line.note.severity, wording.SEVERITY["warning"]),
            "slug": rows.slug_of(line.note.rule),
            "run": line.example,
            "page": links.run_page(line.example) if line.example else "",
        }
        for line in protocolreport.of_agent(agent, user)
    ]


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

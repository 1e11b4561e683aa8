"""One run: how it went, what we noticed, what it asked, and its bytes."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.timezone import now as current
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from agentbridge import visibility
from agentbridge.models import Run, ToolCall
from agentbridge.models.agents import key_of
from agentbridge.runs import looking, rawstream
from agentbridge.views import rows
from approvals import jsontext, waiting
from approvals.requests import PersonRequest
from approvals.trail import sightings

SHOWN = 64 * 1024  # of a stream or an input; the rest is one link away
LISTED = 200  # warnings and calls on a page


@require_safe
@login_required
@vary_on_headers("HX-Request")
def run_detail(request: PersonRequest, slug: str) -> HttpResponse:
    """The run of `?run=`; without it, the agent's page lists them all."""
    if "run" not in request.GET:
        return HttpResponseRedirect(reverse("agent-page", args=[slug]))
    cursor = waiting.newest_seq()
    run = find_run(request, slug)
    if not request.htmx:  # a page that renews itself is the same look
        told = looking.opened(run, by=request.user, page="run", now=current())
        cursor = sightings.cursor_after(cursor, told)
    interrupts = run.interrupts.select_related("task__case", "task__queue").order_by("position")
    head, size = rawstream.head(run, SHOWN)
    row = rows.of_run(run)
    context: dict[str, Any] = {
        "row": row, "run": run, "agent": run.thread.agent, "stream": text_of(head), "stream_size": size,
        "stream_cut": size > len(head), "input": text_of(bytes(run.input[:SHOWN])), "input_size": len(run.input),
        "input_cut": len(run.input) > SHOWN, "warnings": row.warnings[:LISTED],
        "under_way": run.status in (Run.Status.QUEUED, Run.Status.RUNNING), "topics": "trail", "cursor": cursor,
        "more_warnings": max(0, len(row.warnings) - LISTED), "calls": calls_of(run), "interrupts": interrupts,
    }  # fmt: skip
    return render(request, "agentbridge/_run.html" if request.htmx else "agentbridge/run_page.html", context)


@require_safe
@login_required
def run_stream(request: PersonRequest, slug: str) -> HttpResponseBase:
    run = find_run(request, slug)
    looking.opened(run, by=request.user, page="stream", now=current())
    return rawstream.download(run)


@require_safe
@login_required
def run_input(request: PersonRequest, slug: str) -> HttpResponseBase:
    run = find_run(request, slug)
    looking.opened(run, by=request.user, page="input", now=current())
    return rawstream.input_file(run)


def find_run(request: PersonRequest, slug: str) -> Run:
    key = key_of(request.GET.get("run", ""))
    rows = visibility.runs(request.user).filter(thread__agent__slug=slug, key=key)
    run = rows.select_related("thread__agent", "resume__case", "requested_by").order_by("-pk").first()
    if run is None:
        raise Http404
    return run


def text_of(data: bytes) -> str:
    """Bytes for reading: what is no UTF-8 shows as its own byte, and the template makes it visible."""
    return data.decode("utf-8", "backslashreplace")


def calls_of(run: Run) -> list[dict[str, Any]]:
    """The run's tool calls with their results, in order of arrival."""
    found = run.tool_calls.order_by("position")[:LISTED]
    return [
        {"call": call, "results": results_of(call), "whole": call.state == ToolCall.State.COMPLETE} for call in found
    ]


def results_of(call: ToolCall) -> list[str]:
    return [] if call.result is None else [result["text"] for result in jsontext.loads(call.result)]

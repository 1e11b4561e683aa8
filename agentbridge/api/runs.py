"""`/api/v1/runs` and `/api/v1/agents/<slug>/runs`: start a run, list runs, read the bytes of one."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import register_converter
from django.urls.converters import StringConverter
from django.utils import timezone
from django.utils.translation import gettext as _
from ninja import Router

from agentbridge import links, visibility
from agentbridge.api import schema, shapes
from agentbridge.models import Agent, Run
from agentbridge.models.agents import key_of
from agentbridge.runs import looking, rawstream, starting
from approvals.api import bodies, paging
from approvals.api.answering import answer, once
from approvals.api.auth import person
from approvals.api.problems import invalid, not_found
from approvals.models import User
from approvals.schemas import Problem


class OpaqueConverter(StringConverter):
    """An id in a path may hold anything: slashes, and line ends, which Django's `path` does not match."""

    regex = r"[\s\S]+"


register_converter(OpaqueConverter, "opaque")
router = Router(tags=["runs"])


@router.post(
    "agents/{slug}/runs", response={202: schema.Started, **schema.WRITE}, summary="Ask for a run; the bridge makes it",
    openapi_extra=schema.takes(schema.RunIn),
)  # fmt: skip
def run_start(request: HttpRequest, slug: str) -> HttpResponse:
    by, now = person(request), timezone.now()
    find_agent(by, slug)
    text = bodies.text_of(request)
    if bodies.parse(text).root.kind != "object":
        raise invalid(Problem("", _("A RunAgentInput is a JSON object.")))

    def act() -> HttpResponse:
        run = starting.start(find_agent(by, slug), run_input_text=text, by=by, now=now)
        page = links.absolute(links.run_page(run))
        return answer({"threadId": run.thread.thread_id, "runId": run.run_id, "run": page}, 202)

    return once(request, act, now=now)


def find_agent(user: User, slug: str) -> Agent:
    agent = visibility.agents(user).select_related("queue").filter(slug=slug).first()
    if agent is None:
        raise not_found()
    return agent


@router.get("runs", response={200: schema.Runs, **schema.READ}, by_alias=True, summary="Runs, newest first")
def run_list(
    request: HttpRequest, agent: str = "", thread: str = "", all: bool = False,
    limit: paging.Limit = paging.PAGE, cursor: str = "",
) -> HttpResponse:  # fmt: skip
    """Runs that were given up before anything was sent are listed only with `all=1`."""
    paging.only(request, ("agent", "thread", "all"))
    found = visibility.runs(person(request)).select_related("thread__agent")
    if agent:
        found = found.filter(thread__agent__slug=agent)
    if thread:
        found = found.filter(thread__key=key_of(thread))
    if not all:
        found = found.exclude(status=Run.Status.UNSENT)
    if cursor:
        found = found.filter(pk__lt=paging.read_cursor(cursor, int)[0])
    rows = list(found.defer("input", "snapshot").order_by("-pk")[: limit + 1])
    following = paging.write_cursor(rows[limit - 1].pk) if len(rows) > limit else None
    return answer({"runs": [shapes.run(row) for row in rows[:limit]], "next": following})


STREAM = {"responses": {200: {"description": "The bytes as received", "content": {rawstream.MEDIA_TYPE: {}}}}}


@router.get("runs/stream", response=schema.READ, openapi_extra=STREAM, summary="The bytes of a run, as received")
def run_stream(request: HttpRequest, agent: str, run: str) -> HttpResponseBase:
    paging.only(request, ("agent", "run"))
    return download(person(request), agent, run)


@router.get(
    "runs/{opaque:run_id}/stream", response=schema.READ, openapi_extra=STREAM, summary="The same, id in the path"
)
def run_stream_by_path(request: HttpRequest, run_id: str, agent: str) -> HttpResponseBase:
    paging.only(request, ("agent",))
    return download(person(request), agent, run_id)


def download(by: User, slug: str, run_id: str) -> HttpResponseBase:
    run = find_run(by, slug, run_id)
    looking.read_by_program(run, by=by, now=timezone.now())
    return rawstream.download(run)


def find_run(user: User, slug: str, run_id: str) -> Run:
    """The newest run of that id on that agent: ids are unique on a thread, and agents repeat them across threads."""
    rows = visibility.runs(user).filter(thread__agent__slug=slug, key=key_of(run_id))
    run = rows.select_related("thread__agent").order_by("-pk").first()
    if run is None:
        raise not_found()
    return run

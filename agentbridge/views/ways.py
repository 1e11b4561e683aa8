"""`/agui/…`: what an agent's callers and hosts use. Tokens of people open nothing here, and no cookie counts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import nullcontext
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from agentbridge import links
from agentbridge.api import refusals
from agentbridge.models import Agent, Run
from agentbridge.net import client
from agentbridge.net.extension import WRITE
from agentbridge.runs.starting import ThreadOpen
from agentbridge.ways import callers, carrying, following, pull, replaying, tokens
from agentbridge.ways import push as pushing
from agentbridge.ways import relay as relaying
from agentbridge.wire.protocol import ProtocolError
from approvals import clock, rates
from approvals.api import problems
from approvals.api.problems import ApiProblem
from approvals.models import Case
from approvals.refusals import Refused

View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]
BUSY_SECONDS = 5  # a caller may try again after so long
PASSED_ON = ("Content-Encoding", "Retry-After", "WWW-Authenticate")  # how to read its bytes, and when to come again


def as_problems(view: View) -> View:
    """Refusals leave as problems, like the API's."""

    @wraps(view)
    async def asked(request: HttpRequest, *args: str, **place: str) -> HttpResponseBase:
        try:
            return await view(request, *args, **place)
        except ApiProblem as problem:
            return problems.response(problem)
        except carrying.Full:
            return problems.response(busy())
        except ThreadOpen as refused:
            return problems.response(refusals.of_open_thread(refused))
        except Refused as refused:
            return problems.response(problems.of_refusal(refused))
        except ProtocolError as error:
            return problems.response(refusals.of_protocol(error))

    return csrf_exempt(asked)


def guarded(kind: tokens.Kind) -> Callable[[View], View]:
    """The agent of the address with the token of its caller or host."""

    def decorate(view: View) -> View:
        @as_problems
        @wraps(view)
        async def asked(request: HttpRequest, slug: str, **place: str) -> HttpResponseBase:
            return await view(request, await authenticated(request, slug, kind), **place)

        return asked

    return decorate


async def authenticated(request: HttpRequest, slug: str, kind: tokens.Kind) -> Agent:
    sent = request.headers.get("Authorization", "")
    agent: Agent | None = await carrying.here().threads.door(tokens.agent_of, slug, sent, kind)
    if agent is None:
        raise turned_away(request)
    return agent


def turned_away(request: HttpRequest) -> ApiProblem:
    """Without a right token: what is told, once too often as well."""
    wait = rates.WRONG_TOKENS.wait(request.META.get("REMOTE_ADDR", ""), now=timezone.now())
    if wait:
        return ApiProblem(429, "too_many", _("Too many requests. Wait a moment."), retry_after=wait)
    return stranger()


def stranger() -> ApiProblem:
    return ApiProblem(401, "unauthorized", _("Send the Bearer token of this agent."))


@require_POST
@as_problems
async def relay(request: HttpRequest, slug: str) -> HttpResponseBase:
    """A caller's RunAgentInput, passed on as it is; the answer comes back as it is."""
    relays = carrying.here()
    agent, body, asked = await relays.admitted(slug, request.headers.get("Authorization", ""), request.read)
    if agent is None:
        raise turned_away(request)
    if agent.caller_decides and (case := await relays.db(_answered, agent, body)) is not None:
        return await replayed(case)
    try:
        relayed = await relays.open(agent, body, asked)
    except relaying.Unanswered as reason:
        status, code = (504, "agent_silent") if reason.late else (502, "agent_unreachable")
        raise ApiProblem(status, code, str(reason)) from None
    relayed.passage.write = getattr(request, "scope", {}).get("extensions", {}).get(WRITE)
    answer = relayed.head.result()
    response = unbuffered(relayed.passage.parts(), answer.header("content-type") or "application/octet-stream")
    response.status_code = answer.status
    for name in PASSED_ON:
        if answer.header(name.lower()):
            response[name] = answer.header(name.lower())
    return response


def busy() -> ApiProblem:
    text = _("This desk carries as many streams as it may.")
    return ApiProblem(503, "busy", text, retry_after=BUSY_SECONDS)


def _answered(agent: Agent, body: bytes) -> Case | None:
    return callers.answered(agent, body, now=clock.now())


async def replayed(case: Case) -> HttpResponseBase:
    """The recorded run that carries the caller's answers. Raises `Full`; the same answers again then find it."""
    db, replay = carrying.here().db, replaying.Replay(case)
    try:
        first = await replaying.begun(replay, db)
    except replaying.Undelivered as reason:
        status, code = (504, "agent_silent") if reason.late else (502, "not_delivered")
        pages = [links.absolute(links.case_page(case.code))]
        raise ApiProblem(status, code, str(reason), links=pages) from None
    return unbuffered(carrying.here().followed(replaying.following(first, replay, db)), client.EVENT_STREAM)


@require_GET
@guarded("caller")
async def thread_events(request: HttpRequest, agent: Agent, thread_id: str) -> HttpResponseBase:
    """All runs of a thread, also those to come, or so many of them (`?runs=`).

    `Last-Event-ID` or `?after=`: go on there; `?run=`: after that run.
    """
    asked: dict[str, Any] = {"after": request.headers.get("Last-Event-ID") or request.GET.get("after", "")}
    asked |= {"run_id": request.GET.get("run"), "runs": request.GET.get("runs")}
    db = carrying.here().db
    try:
        follower = await db(following.begin, agent, thread_id, **asked)
    except following.NoPosition as reason:
        raise problems.bad_query(str(reason)) from None
    if follower is None:
        raise problems.not_found()
    return unbuffered(carrying.here().followed(following.follow(follower, db)), client.EVENT_STREAM)


@require_POST
@guarded("host")
async def push(request: HttpRequest, agent: Agent) -> HttpResponseBase:
    """One whole run from the agent's host: a JSON document, or the event stream as it was."""
    run: Run = await carrying.here().db(_push, agent, request.content_type or "", request.read())
    page = links.absolute(links.run_page(run))
    return JsonResponse({"threadId": run.thread.thread_id, "runId": run.run_id, "run": page})


def _push(agent: Agent, content_type: str, body: bytes) -> Run:
    told = content_type == client.EVENT_STREAM
    pushed = pushing.read_stream(agent, body) if told else pushing.read_document(body)
    return pushing.push(agent, pushed, now=clock.now())


@require_GET
@guarded("host")
async def resumes(request: HttpRequest, agent: Agent) -> HttpResponseBase:
    """The inputs that the host owes its agent, byte for byte; `?wait=` seconds for the first of them."""
    try:
        wait = max(0.0, float(request.GET.get("wait", "0")))
    except ValueError:
        raise problems.bad_query(_("“wait” is a number of seconds.")) from None
    relays = carrying.here()
    try:
        with relays.waits.another(agent) if wait else nullcontext():
            found = await pull.owed(agent, wait=wait, db=relays.db)
    except pull.TokenGone:
        raise stranger() from None
    except pull.Crowded:
        text = _("As many requests as may wait for answers already do. Ask again, or without “wait”.")
        raise ApiProblem(429, "too_many", text, retry_after=BUSY_SECONDS) from None
    return HttpResponse(b'{"resumes":[' + b",".join(found) + b"]}", content_type="application/json")


def unbuffered(body: AsyncIterator[bytes], content_type: str) -> StreamingHttpResponse:
    """Nothing on the way may hold frames back (X-14)."""
    response = StreamingHttpResponse(body, content_type=content_type)
    response["X-Accel-Buffering"] = "no"
    response["Cache-Control"] = "no-store, no-transform"
    return response

"""“Test connection”: is there an agent at this address, and does it let us in? Nothing is started by it.

What is sent is JSON that no agent can work with: every member of a RunAgentInput is there and is a number. A server
that looks at its input refuses it, and by how it refuses it shows what it is. After the first event nothing is read.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from agentbridge.delivery.tickets import headers_of
from agentbridge.models import Agent
from agentbridge.net import client, egress
from agentbridge.wire import sse
from agentbridge.wire.protocol import Problem, parse_event

PROBE = b'{"threadId":1,"runId":1,"state":1,"messages":1,"tools":1,"context":1,"forwardedProps":1}'
NAMES = re.compile(r"thread_?id|run_?id|messages|RunAgentInput", re.I)  # a refusal that knows what was missing
SECONDS = 10  # for everything, the capabilities too
PATIENCE = 4  # for one step: a person waits before a page
EXCERPT = 600
OUTCOMES = {"timeout": "slow", "limit": "not_agui"}  # of what went wrong on the way; the other kinds keep their name


@dataclass(frozen=True, kw_only=True)
class Finding:
    """`outcome` is a key of `wording.CHECK`; the rest is what was seen, in foreign words."""

    outcome: str
    status: int | None = None
    content_type: str = ""
    server: str = ""
    said: str = ""  # the beginning of the answer, or why there was none


@dataclass(frozen=True, kw_only=True)
class Check:
    """What a test found. The capabilities are for reading only: nothing here depends on them."""

    agent: Finding
    capabilities: str | None = None  # None: the agent publishes none
    trouble: str = ""  # why they could not be read


async def check(agent: Agent) -> Check:
    """Never raises on what is out there; at most `SECONDS` long."""
    try:
        async with asyncio.timeout(SECONDS):
            finding = await probe(agent.url, headers_of(agent))
            if not agent.capabilities_url:
                return Check(agent=finding)
            return await with_capabilities(agent, finding)
    except TimeoutError:
        return Check(agent=Finding(outcome="slow"))


def limits() -> client.Limits:
    return client.Limits(
        connect_seconds=PATIENCE, first_event_seconds=PATIENCE, idle_seconds=PATIENCE,
        stream_bytes=client.ERROR_BODY_LIMIT,
    )  # fmt: skip


async def probe(url: str, headers: tuple[tuple[str, str], ...]) -> Finding:
    try:
        async with client.post(url, headers=headers, body=PROBE, arm=client.at_once, limits=limits()) as answer:
            return await judge(answer)
    except egress.EgressError as error:
        return Finding(outcome=OUTCOMES.get(error.kind, error.kind), said=error.sentence)


async def judge(answer: client.Answer) -> Finding:
    """What the answer shows. Its status counts first: what stands in a refusal's body is only shown."""
    outcome, said = await _stream(answer) if answer.is_stream else await _document(answer)
    return Finding(
        outcome=outcome, status=answer.status, content_type=answer.content_type, server=answer.header("server"),
        said=said[:EXCERPT],
    )  # fmt: skip


async def _stream(answer: client.Answer) -> tuple[str, str]:
    """The first event tells; after it nothing is read."""
    parser = sse.Parser(limit=client.ERROR_BODY_LIMIT)
    try:
        async for part in answer.aiter():
            if frames := parser.feed(part):
                return _first(frames[0].data)
    except sse.FrameTooLarge as large:
        return "not_agui", str(large)
    frames = parser.close()
    return _first(frames[0].data) if frames else ("not_agui", "")


def _first(data: str) -> tuple[str, str]:
    event = parse_event(data)
    if isinstance(event, Problem):
        return "not_agui", data
    return ("began" if event.type == "RUN_STARTED" else "fine"), data


async def _document(answer: client.Answer) -> tuple[str, str]:
    if 300 <= answer.status < 400:
        return "redirect", answer.header("location")
    body = await _beginning(answer)
    if answer.status in (401, 403):
        return "credentials", body
    if answer.status in (404, 410):
        return "not_found", body
    if answer.status in (429, 503):
        return "busy", body
    if answer.status >= 500:
        return "failing", body
    if answer.content_type in ("text/html", "application/xhtml+xml"):
        return "html", body
    if answer.status in (400, 422):
        return ("fine" if NAMES.search(body) else "unsure"), body
    return ("wrong_type" if answer.status < 300 else "not_agui"), body


async def _beginning(answer: client.Answer) -> str:
    """As much as there is in time; a body that breaks off changes nothing."""
    read = b""
    try:
        async for part in answer.aiter():
            read += part
    except egress.EgressError as error:
        read += f"\n… {error.sentence}".encode()
    return read.decode("utf-8", "backslashreplace")


async def with_capabilities(agent: Agent, finding: Finding) -> Check:
    """The agent's headers go along only to the agent's own origin."""
    place = agent.capabilities_url
    headers = headers_of(agent) if egress.origin(place) == egress.origin(agent.url) else ()
    try:
        async with client.fetch(place, headers=headers, limits=limits()) as answer:
            said = await _beginning(answer)
            if answer.status == 200:
                return Check(agent=finding, capabilities=said)
            return Check(agent=finding, trouble=f"HTTP {answer.status}")
    except egress.EgressError as error:
        return Check(agent=finding, trouble=error.sentence)

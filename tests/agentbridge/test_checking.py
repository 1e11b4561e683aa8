"""“Test connection”: each way in which an address can be no agent has its own word, and nothing is started anywhere."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from agentbridge import checking, dialects, wording
from agentbridge.models import Agent
from agentbridge.wire import reading
from tests.scripted_agent import HANG, RESET, Answer, ScriptedAgent, failed, started
from tests.waiting import PATIENCE

JSON = {"Content-Type": "application/json"}
HTML = {"Content-Type": "text/html; charset=utf-8"}
TEXT = {"Content-Type": "text/plain"}
MISSING = b'{"detail":[{"type":"list_type","loc":["body","messages"],"msg":"Input should be a valid list"}]}'


def check(url: str, **more) -> checking.Check:
    return asyncio.run(checking.check(Agent(slug="payer", name="Payer", url=url, **more)))


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setattr(checking, "PATIENCE", PATIENCE)
    monkeypatch.setattr(checking, "SECONDS", 2 * PATIENCE)


@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        ("fine", Answer([MISSING], 422, JSON)),
        ("fine", Answer([b'{"error":"threadId must be a string"}'], 400, JSON)),
        ("fine", Answer([failed("invalid input")])),
        ("began", Answer([started().replace(b"__THREAD__", b"1").replace(b"__RUN__", b"1"), HANG])),
        ("unsure", Answer([b'{"error":"bad request"}'], 400, JSON)),
        ("credentials", Answer([b'{"detail":"no token"}'], 401, JSON)),
        ("credentials", Answer([b"<h1>CSRF</h1>"], 403, HTML)),
        ("not_found", Answer([b"<h1>Not Found</h1>"], 404, HTML)),
        ("html", Answer([b"<!doctype html>"], 200, HTML)),
        ("wrong_type", Answer([b'{"ok":true}'], 200, JSON)),
        ("not_agui", Answer([b"data: hello\n\n"])),
        ("not_agui", Answer([b": only comments\n\n"])),
        ("not_agui", Answer([b"data: " + b"x" * 200_000])),
        ("not_agui", Answer([b"no"], 405, TEXT)),
        ("redirect", Answer([], 307, {"Location": "https://elsewhere.example/"})),
        ("busy", Answer([b"later"], 503, TEXT)),
        ("failing", Answer([b"Internal Server Error"], 500, TEXT)),
        ("slow", Answer([HANG])),
        ("slow", Answer([HANG], head=False)),
        ("slow", Answer([b": alive\n\n", HANG])),
        ("reset", Answer([RESET], head=False)),
    ],
)
def test_each_answer_has_its_word(outcome, answer, monkeypatch):
    if outcome == "slow":
        monkeypatch.setattr(checking, "PATIENCE", 1)
    with ScriptedAgent([answer]) as agent:
        assert check(agent.url).agent.outcome == outcome
        assert len(agent.posts) == 1


def test_what_is_sent_is_nothing_that_an_agent_can_work_with():
    with ScriptedAgent([Answer([MISSING], 422, JSON)]) as agent:
        check(agent.url, headers='[["X-Key", "secret"]]')
        assert set(agent.posts[0].json.values()) == {1}
        assert agent.posts[0].headers["x-key"] == "secret"


def test_nobody_listening_is_told_from_an_unknown_name_and_from_the_policy():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert check(f"http://127.0.0.1:{unused.getsockname()[1]}/").agent.outcome == "refused"
    not_allowed = check("http://10.0.0.1/").agent
    assert (not_allowed.outcome, "EGRESS_ALLOW" in not_allowed.said) == ("not_allowed", True)


def test_an_unknown_name(monkeypatch):
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert check("https://agent.example/").agent.outcome == "dns"


async def test_no_tls_on_the_other_side():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        agent = Agent(slug="payer", name="Payer", url=f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        assert (await checking.check(agent)).agent.outcome == "tls"


def test_it_ends_in_time_whatever_comes(monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 0.4)
    with ScriptedAgent([Answer([b": drip\n\n", 0.15] * 400)]) as agent:
        assert check(agent.url).agent.outcome == "slow"


def test_capabilities_are_read_and_decide_nothing():
    published = Answer([b'{"streaming":true}'], 200, JSON)
    with ScriptedAgent([Answer([b"gone"], 404, TEXT), published]) as agent:
        found = check(agent.url, capabilities_url=f"{agent.url}capabilities", headers='[["X-Key","secret"]]')
        assert (found.agent.outcome, found.capabilities) == ("not_found", '{"streaming":true}')
        assert agent.posts[1].headers["x-key"] == "secret"


def test_credentials_stay_at_the_agents_origin():
    with ScriptedAgent([Answer([MISSING], 422, JSON)]) as agent, ScriptedAgent([Answer([b"no"], 401, TEXT)]) as other:
        found = check(agent.url, capabilities_url=other.url, headers='[["X-Key","secret"]]')
        assert (found.capabilities, found.trouble) == (None, "HTTP 401")
        assert "x-key" not in other.posts[0].headers


def test_every_outcome_and_every_choice_is_explained():
    kinds = {"refused", "dns", "tls", "not_allowed", "reset"}
    judged = {"fine", "began", "unsure", "credentials", "not_found", "html", "wrong_type", "not_agui", "redirect"}
    assert set(wording.CHECK) == kinds | judged | {"busy", "failing", "slow"}
    assert set(wording.DIALECT) == {dialects.AUTO, *dialects.NAMES}
    assert set(wording.TOLERANCES) == set(reading.TOLERANCES)
    assert json.loads(checking.PROBE).keys() >= {"threadId", "runId", "messages"}

"""An agent with its tokens and the desk on a socket: what callers and hosts see of us."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
from django.utils import timezone

from agentbridge import registering
from agentbridge.models import Agent
from agentbridge.tending import Tokens
from tests.scripted_agent import ScriptedAgent
from tests.waiting import PATIENCE

Json = dict[str, Any]


def asked(run_id: str = "run-1", thread_id: str = "thread-1", **more: Any) -> Json:
    return {
        "threadId": thread_id, "runId": run_id, "state": {}, "tools": [], "context": [], "forwardedProps": {},
        "messages": [{"id": "u-1", "role": "user", "content": "please"}], **more,
    }  # fmt: skip


def heard(parts: Iterator[bytes], word: bytes) -> bytes:
    """What comes, up to the part with this word. Fails when the stream ends without it."""
    told = b""
    while word not in told:
        told += next(parts)
    return told


@dataclass
class Outside:
    """Somebody at `/agui/payer`, with the tokens of that agent."""

    url: str
    agent: Agent
    tokens: Tokens
    timeout: float = PATIENCE

    def headers(self, kind: str, **more: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {getattr(self.tokens, kind)}", "Content-Type": "application/json", **more}

    def address(self, rest: str = "") -> str:
        return f"{self.url}/agui/{self.agent.slug}{rest}"

    def run(self, body: bytes | Json | None = None) -> httpx.Response:
        """Through the relay, read to its end."""
        sent = body if isinstance(body, bytes) else json.dumps(body or asked()).encode()
        return httpx.post(self.address(), content=sent, headers=self.headers("caller"), timeout=self.timeout)

    def push(self, body: bytes | Json, kind: str = "application/json") -> httpx.Response:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = self.headers("host", **{"Content-Type": kind})
        return httpx.post(self.address("/push"), content=sent, headers=headers, timeout=self.timeout)

    def owed(self, wait: float = 0) -> list[Json]:
        answer = httpx.get(self.address(f"/resumes?wait={wait}"), headers=self.headers("host"), timeout=self.timeout)
        assert answer.status_code == 200, answer.text
        return answer.json()["resumes"]


def outside(url: str, scripted: ScriptedAgent | None = None) -> Outside:
    """Register the agent; without a script it is one that nobody can call."""
    address = scripted.url if scripted else "https://agent.invalid/"
    wanted = registering.Wanted(slug="payer", url=address, name="Payer", queue="payments")
    agent, tokens = registering.register(wanted, now=timezone.now())
    assert tokens is not None
    return Outside(url, agent, tokens)

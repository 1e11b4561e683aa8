"""A guard before a scripted agent, on a real socket."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentbridge.guard.agent import Agent
from agentbridge.guard.app import Application
from agentbridge.guard.guarding import Bounds, Guard
from agentbridge.guard.journal import Journal
from agentbridge.guard.trust import Trust
from tests.scripted_agent import Answer, Json, ScriptedAgent
from tests.served import served
from tests.waiting import PATIENCE

clock = partial(datetime.now, UTC)
YES = {"approved": True}
NO = {"approved": False}


def answer(payload: Any = YES, id_: str = "int-1", **more: Any) -> Json:
    return {"interruptId": id_, "status": "resolved", "payload": payload, **more}


def asked(run: str, resume: Sequence[Json] | None = None, thread: str = "t-1", **more: Any) -> Json:
    told = {"threadId": thread, "runId": run, "state": {}, "messages": [], "tools": [], "context": []}
    return {**told, "forwardedProps": {}, **({} if resume is None else {"resume": list(resume)}), **more}


@dataclass
class Door:
    """What a client sees of a guard."""

    url: str
    agent: ScriptedAgent
    http: httpx.Client = field(default_factory=lambda: httpx.Client(trust_env=False, timeout=PATIENCE))

    def post(self, run: str, resume: Sequence[Json] | None = None, **more: Any) -> httpx.Response:
        return self.send(json.dumps(asked(run, resume, **more)).encode())

    def send(self, body: bytes, path: str = "/agent", **headers: str) -> httpx.Response:
        return self.http.post(self.url + path, content=body, headers={"content-type": "application/json", **headers})

    def code(self, run: str, resume: Sequence[Json] | None = None, **more: Any) -> str:
        """The code of the RUN_ERROR that was all that came back."""
        (event,) = events(self.post(run, resume, **more))
        assert event["type"] == "RUN_ERROR", event
        return event["code"]


def events(response: httpx.Response) -> list[Json]:
    assert response.status_code == 200, response.text
    return [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: ")]


def full(*_args: object, **_named: object) -> None:
    """In place of a deed of the journal."""
    raise sqlite3.OperationalError("database or disk is full")


Before = Callable[..., Door]


@pytest.fixture
def before(tmp_path: Path) -> Iterator[Before]:
    """`before(answer, …)`: a guard before an agent that gives these answers."""
    with ExitStack() as stack:

        def make(*script: Answer, trust: Trust | None = None, **bounds: Any) -> Door:
            agent = stack.enter_context(ScriptedAgent(script))
            journal = Journal(tmp_path / "state", agent=agent.url)
            stack.callback(journal.close)
            guard = Guard(
                Agent(agent.url, silence=PATIENCE), journal, trust or Trust(clock=clock), clock=clock,
                bounds=Bounds(**bounds),
            )  # fmt: skip
            door = Door(stack.enter_context(served(Application(guard))), agent)
            stack.callback(door.http.close)
            return door

        yield make

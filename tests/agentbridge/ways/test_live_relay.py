"""The relay as it is deployed: behind Daphne, and beside the bridge."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.agentbridge.ways.desk import asked, heard
from tests.desk import Desk, own_database
from tests.scripted_agent import Answer, ScriptedAgent, call, finished, interrupt, result, started

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder: Path = tmp_path_factory.mktemp("desk")
    with own_database(folder) as url:
        desk = Desk(folder, {"LEASE_SECONDS": "2"})
        desk.prepare(url)
        desk.add_people()
        desk.start()
        yield desk
        desk.stop()


def caller(desk: Desk, agent: ScriptedAgent, slug: str) -> dict[str, str]:
    told = json.loads(desk.manage("add_agent", slug, agent.url, "--queue", "payments"))
    return {"Authorization": f"Bearer {told['callerToken']}"}


def test_frames_pass_daphne_one_by_one(desk: Desk) -> None:
    first, second = threading.Event(), threading.Event()
    with ScriptedAgent([Answer([started(), first, call(), second, finished()])]) as agent:
        headers = caller(desk, agent, "steady")
        with httpx.stream("POST", f"{desk.url}/agui/steady", json=asked(), headers=headers, timeout=20) as answer:
            parts = answer.iter_raw()
            heard(parts, b"RUN_STARTED")
            first.set()
            heard(parts, b"TOOL_CALL_END")
            second.set()
            heard(parts, b"RUN_FINISHED")


def test_a_decision_reaches_the_front_end_that_follows(desk: Desk) -> None:
    script = [Answer([started(), call(), finished(interrupt())]), Answer([started(), result(), finished()])]
    with ScriptedAgent(script) as agent:
        headers, input_ = caller(desk, agent, "followed"), asked(thread_id="thread-f")
        httpx.post(f"{desk.url}/agui/followed", json=input_, headers=headers, timeout=20)
        desk.decide(desk.open_tasks("thread-f")[0], "approved")
        address = f"{desk.url}/agui/followed/threads/thread-f/events?run=run-1"
        with httpx.stream("GET", address, headers=headers, timeout=20) as answer:
            seen = heard(answer.iter_raw(), b"RUN_FINISHED")
    assert b"TOOL_CALL_RESULT" in seen

"""The relay as it is deployed: behind Daphne, and beside the bridge."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.agentbridge.ways.desk import asked, heard
from tests.desk import Desk, own_database
from tests.scripted_agent import Answer, ScriptedAgent, call, finished, frame, interrupt, result, started
from tests.waiting import PATIENCE, until

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder: Path = tmp_path_factory.mktemp("desk")
    with own_database(folder) as url:
        desk = Desk(folder, {"UNREAD_LIMIT": str(2**20)})
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
        with httpx.stream("POST", f"{desk.url}/agui/steady", json=asked(), headers=headers) as answer:
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
        httpx.post(f"{desk.url}/agui/followed", json=input_, headers=headers)
        desk.decide(desk.open_tasks("thread-f")[0], "approved")
        address = f"{desk.url}/agui/followed/threads/thread-f/events?run=run-1"
        with httpx.stream("GET", address, headers=headers) as answer:
            seen = heard(answer.iter_raw(), b"RUN_FINISHED")
    assert b"TOOL_CALL_RESULT" in seen


def test_a_caller_who_does_not_read_is_cut_off_and_the_run_is_recorded_to_its_end(desk: Desk) -> None:
    much = [frame(type="CUSTOM", name="n", value="y" * 64_000)] * 400
    with ScriptedAgent([Answer([started(), call(), *much, finished(interrupt())])]) as agent:
        headers, body = caller(desk, agent, "talker"), json.dumps(asked(thread_id="thread-s"))
        with post(f"{desk.url}/agui/talker", headers, body) as slow:
            until(lambda: desk.open_tasks("thread-s"), "the pause")
            seen = left_for(slow)
        address = f"{desk.url}/agui/talker/threads/thread-s/events?runs=1"
        whole = httpx.get(address, headers=headers, timeout=PATIENCE).content
    assert b"RUN_STARTED" in seen and b"RUN_FINISHED" not in seen and not seen.endswith(b"0\r\n\r\n")
    assert whole.count(b"CUSTOM") == 400 and b"RUN_FINISHED" in whole


@contextmanager
def post(url: str, headers: dict[str, str], body: str) -> Iterator[socket.socket]:
    """A caller who asked and has read nothing yet."""
    place = urlsplit(url)
    lines = [f"POST {place.path} HTTP/1.1", f"Host: {place.netloc}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    with socket.create_connection((place.hostname or "", place.port or 80)) as slow:
        slow.sendall("\r\n".join([*lines, "", body]).encode())
        yield slow


def left_for(slow: socket.socket) -> bytes:
    told = b""
    with suppress(ConnectionResetError):
        while part := slow.recv(2**20):
            told += part
    return told

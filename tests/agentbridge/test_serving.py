"""Daphne as we run it: an answer that breaks in the middle is nobody else's trouble."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.desk import ROOT, free_port

PROGRAM = """
import sys
from daphne.endpoints import build_endpoint_description_strings
from agentbridge.guard.server import PatientServer
from agentbridge.net.serving import SteadyServer

async def application(scope, receive, send):
    if scope["path"] == "/early":
        raise RuntimeError
    said = str(len(server.connections)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": said, "more_body": scope["path"] == "/half"})
    if scope["path"] == "/half":
        raise RuntimeError

kind, port = sys.argv[1], int(sys.argv[2])
if kind == "steady":
    places = build_endpoint_description_strings(host="127.0.0.1", port=port)
    server = SteadyServer(application, endpoints=places)
else:
    server = PatientServer(application, host="127.0.0.1", port=port)
server.run()
"""


@pytest.fixture(params=["steady", "patient"])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    port = free_port()
    words = [sys.executable, "-c", PROGRAM, request.param, str(port)]
    process = subprocess.Popen(words, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def known(server: str) -> int:
    """How many requests the server knows of, this one too; it may still be on its way up."""
    end = time.monotonic() + 30
    while True:
        try:
            return int(httpx.get(server, trust_env=False).text)
        except httpx.ConnectError:
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.05)


def test_an_answer_that_breaks_breaks_off_and_is_put_away(server: str) -> None:
    known(server)
    assert httpx.get(f"{server}/early", trust_env=False, timeout=20).status_code == 500
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{server}/half", trust_env=False, timeout=20)
    end = time.monotonic() + 60
    while known(server) > 2:  # this one, and perhaps the one before it: they are put away once a second
        assert time.monotonic() < end, "what broke off is kept for ever"
        time.sleep(2)

"""Daphne as we run it: an answer that breaks in the middle is nobody else's trouble."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import repeat

import httpx
import pytest

from tests.desk import ROOT, free_port
from tests.waiting import PATIENCE, until

PROGRAM = """
import asyncio
import sys
from daphne.endpoints import build_endpoint_description_strings
from agentbridge.net.serving import SteadyServer

talking = []
heard = []

async def application(scope, receive, send):
    if scope["path"] == "/much":
        talking.append(scope)
        try:
            await much(send)
        finally:
            talking.clear()
    if scope["path"] == "/early":
        raise RuntimeError
    if scope["path"] == "/until-gone":
        return await until_gone(receive, send)
    if scope["path"] == "/body":
        return await measured(receive, send)
    counted = {"/talking": talking, "/heard": heard}.get(scope["path"], server.connections)
    said = str(len(counted)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": said, "more_body": scope["path"] == "/half"})
    if scope["path"] == "/half":
        raise RuntimeError

async def measured(receive, send):
    got, more = 0, True
    while more:
        message = await receive()
        got, more = got + len(message["body"]), message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(got).encode()})

async def until_gone(receive, send):
    await receive()
    gone = asyncio.ensure_future(receive())
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while not gone.done():
        await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
    heard.append(gone.result()["type"])

async def much(send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(1000):
        await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})

places = build_endpoint_description_strings(host="127.0.0.1", port=int(sys.argv[1]))
server = SteadyServer(application, endpoints=places, patience=1, body_limit=2**20)
server.run()
"""


@pytest.fixture
def server() -> Iterator[str]:
    port = free_port()
    words = [sys.executable, "-c", PROGRAM, str(port)]
    process = subprocess.Popen(words, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def known(server: str) -> int:
    """How many requests the server knows of, this one too; it may still be on its way up."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return int(httpx.get(server, trust_env=False).text)
        except httpx.ConnectError:
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.05)


def test_an_answer_that_breaks_breaks_off_and_is_put_away(server: str) -> None:
    known(server)
    assert httpx.get(f"{server}/early", trust_env=False).status_code == 500
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{server}/half", trust_env=False)
    end = time.monotonic() + PATIENCE
    while known(server) > 2:  # this one, and perhaps the one before it: they are put away once a second
        assert time.monotonic() < end, "what broke off is kept for ever"
        time.sleep(2)


def test_a_client_that_does_not_read_is_cut_off(server: str) -> None:
    known(server)
    with socket.create_connection(("127.0.0.1", int(server.rpartition(":")[2]))) as client:
        client.sendall(b"GET /much HTTP/1.1\r\nHost: desk\r\n\r\n")
        client.recv(1)
        until(lambda: httpx.get(f"{server}/talking", trust_env=False).text == "0", "giving up")
        assert len(left_for(client)) < 32 * 2**20  # of 64: what the kernel held


def test_the_application_hears_that_a_client_who_does_not_read_has_gone(server: str) -> None:
    """Or Django ends no request of such a client, and its connection never goes back to the pool."""
    known(server)
    with socket.create_connection(("127.0.0.1", int(server.rpartition(":")[2]))) as client:
        client.sendall(b"GET /until-gone HTTP/1.1\r\nHost: desk\r\n\r\n")
        client.recv(1)
        until(lambda: httpx.get(f"{server}/heard", trust_env=False).text == "1", "hearing that it has gone")


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/odd"])
def test_a_body_comes_as_it_was_sent_and_is_taken_for_no_form(server: str, kind: str) -> None:
    known(server)
    answer = httpx.post(f"{server}/body", content=b"a=b&" * 100_000, headers={"Content-Type": kind}, trust_env=False)
    assert (answer.status_code, answer.text) == (200, "400000")


def test_of_a_body_that_is_too_long_a_little_more_than_allowed_is_kept(server: str) -> None:
    known(server)
    pieces = [b"x" * 2**16] * 30  # of no told length
    got = int(httpx.post(f"{server}/body", content=iter(pieces), trust_env=False).text)
    assert 2**20 < got <= 2**20 + 2**17


def test_a_body_without_an_end_is_cut_off(server: str) -> None:
    known(server)
    with pytest.raises((httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError)):
        httpx.post(f"{server}/body", content=repeat(b"x" * 2**16), trust_env=False, timeout=PATIENCE)
    assert known(server) > 0


def left_for(client: socket.socket) -> bytes:
    told = b""
    with suppress(ConnectionResetError):
        while part := client.recv(2**20):
            told += part
    return told

"""Nothing leaves before arming, what comes back is bounded, every failure says whether something was sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from agentbridge.net import client, egress
from tests.waiting import PATIENCE

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
PATIENT = client.Limits(
    connect_seconds=PATIENCE, first_event_seconds=PATIENCE, idle_seconds=PATIENCE, stream_bytes=1000
)
HASTY = replace(PATIENT, first_event_seconds=0.3, idle_seconds=0.3)  # for silences


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Agent:
    """A server that answers one fixed script and remembers every byte it got."""

    def __init__(self) -> None:
        self.script: list[bytes | float] = []
        self.got = bytearray()
        self.connections = 0
        self.closed = asyncio.Event()
        self.serving: set[asyncio.Task[None]] = set()

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.serving.add(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reading = asyncio.create_task(self._read(reader))
        while self.script and b"\r\n\r\n" not in self.got and not reading.done():
            await asyncio.sleep(0.005)
        for step in self.script:
            if isinstance(step, bytes):
                writer.write(step)
            else:
                await asyncio.wait([reading], timeout=step)
        writer.close()
        await reading

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while data := await reader.read(65536):
                self.got += data
        except ConnectionError:
            pass
        self.closed.set()


@pytest.fixture
async def agent():
    agent = Agent()
    server = await asyncio.start_server(agent.connected, "127.0.0.1", 0)
    agent.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/agui?a=1"
    yield agent
    server.close()
    await asyncio.gather(*agent.serving)


async def go() -> None:
    pass


async def ask(
    agent: Agent, *, arm: Callable[[], Awaitable[None]] = go, body: bytes = b"{}", headers=(), limits=PATIENT
) -> list[bytes]:
    async with client.post(agent.url, headers=headers, body=body, arm=arm, limits=limits) as answer:
        return [part async for part in answer.aiter()]


async def test_not_one_byte_leaves_before_arming(agent):
    agent.script = [HEAD, chunk(b"data: 1\n\n"), b"0\r\n\r\n"]
    seen = []

    async def arm() -> None:
        await asyncio.sleep(0.1)
        seen.append((agent.connections, bytes(agent.got)))

    assert b"".join(await ask(agent, arm=arm)) == b"data: 1\n\n"
    assert seen == [(1, b"")]  # connected, and silent


async def test_arming_refused_closes_with_nothing_sent(agent):
    class LeaseLost(Exception):
        pass

    async def arm() -> None:
        raise LeaseLost

    with pytest.raises(LeaseLost):
        await ask(agent, arm=arm)
    await asyncio.wait_for(agent.closed.wait(), PATIENCE)
    assert agent.got == b""


@pytest.mark.parametrize("error", [TimeoutError, ConnectionResetError])
async def test_an_error_of_the_database_while_arming_is_not_the_agents(agent, error):
    async def arm() -> None:
        raise error("database")

    with pytest.raises(error, match="database"):
        await ask(agent, arm=arm)
    assert agent.got == b""


async def test_the_request_is_exactly_ours(agent):
    agent.script = [HEAD, b"0\r\n\r\n"]
    await ask(agent, body=b'{"n":1.0}', headers=[("Authorization", "Bearer ümlaut")])
    head, _, body = bytes(agent.got).partition(b"\r\n\r\n")
    assert body == b'{"n":1.0}'
    assert head.split(b"\r\n")[0] == b"POST /agui?a=1 HTTP/1.1"
    fields = {line.partition(b": ")[0].lower(): line.partition(b": ")[2] for line in head.split(b"\r\n")[1:]}
    assert fields.pop(b"host").startswith(b"127.0.0.1:")
    assert fields == {
        b"accept": b"text/event-stream",
        b"accept-encoding": b"identity",
        b"content-type": b"application/json",
        b"content-length": b"9",
        b"authorization": "Bearer ümlaut".encode(),
    }


async def test_bytes_are_counted(agent):
    agent.script = [HEAD, chunk(b"abc"), b"0\r\n\r\n"]
    async with client.post(agent.url, headers=(), body=b"{}", arm=go, limits=PATIENT) as answer:
        assert [part async for part in answer.aiter()] == [b"abc"]
    assert (answer.bytes_received, answer.bytes_sent) == (3, len(agent.got))


async def test_a_redirect_is_an_answer_not_a_way(agent):
    agent.script = [b"HTTP/1.1 307 Temporary\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"]
    async with client.post(agent.url, headers=(), body=b"{}", arm=go, limits=PATIENT) as answer:
        assert (answer.status, answer.header("location")) == (307, "http://127.0.0.1:1/")
    assert agent.connections == 1


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ([PATIENCE], "timeout"),  # no head
        ([HEAD, PATIENCE], "timeout"),  # no first event
        ([HEAD, chunk(b": hi\n"), PATIENCE], "timeout"),  # idle
        ([HEAD, b"5\r\nab"], "reset"),  # cut inside a chunk
        ([HEAD, chunk(b"a")], "reset"),  # no last chunk
        ([b""], "reset"),  # closed without a word
        ([b"SSH-2.0-OpenSSH\r\n"], "reset"),
        ([HEAD, chunk(b"x" * 1001), b"0\r\n\r\n"], "limit"),
    ],
)
async def test_after_arming_no_failure_claims_that_nothing_was_sent(agent, script, kind):
    agent.script = script
    with pytest.raises(egress.EgressError) as failure:
        await ask(agent, limits=HASTY if kind == "timeout" else PATIENT)
    assert (failure.value.kind, failure.value.nothing_sent) == (kind, False)


async def test_comments_count_as_life(agent):
    agent.script = [HEAD, *[chunk(b":\n"), 0.1] * 22, b"0\r\n\r\n"]
    limits = replace(PATIENT, first_event_seconds=2, idle_seconds=2)
    assert b"".join(await ask(agent, limits=limits)) == b":\n" * 22


async def test_an_error_page_is_read_to_64_kilobytes(agent):
    agent.script = [b"HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\n\r\n", b"x" * 100_000]
    assert len(b"".join(await ask(agent))) == 64 * 1024


async def test_leaving_early_closes_the_connection(agent):
    agent.script = [HEAD, chunk(b"a"), 0.2, chunk(b"b"), 0.2, chunk(b"c")]
    async with client.post(agent.url, headers=(), body=b"{}", arm=go, limits=PATIENT) as answer:
        assert await anext(answer.aiter()) == b"a"
    await asyncio.wait_for(agent.closed.wait(), PATIENCE)


@pytest.mark.parametrize(
    "header", [("Host", "x"), ("content-length", "1"), ("Accept", "*/*"), ("A b", "x"), ("A", "b\r\nC: d"), ("", "x")]
)
async def test_headers_that_would_change_the_request_are_refused(agent, header):
    with pytest.raises(egress.NotAllowed) as refusal:
        await ask(agent, headers=[header])
    assert refusal.value.nothing_sent and agent.connections == 0


async def test_environment_proxies_are_ignored(agent, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    agent.script = [HEAD, b"0\r\n\r\n"]
    assert await ask(agent) == []


async def test_three_hundred_streams_at_once(agent):
    agent.script = [HEAD, 0.2, chunk(b"x"), b"0\r\n\r\n"]
    async def one() -> bytes:
        async with client.post(agent.url, headers=(), body=b"{}", arm=go, limits=PATIENT) as answer:
            return b"".join([part async for part in answer.aiter()])

    assert set(await asyncio.gather(*[one() for _ in range(300)])) == {b"x"}

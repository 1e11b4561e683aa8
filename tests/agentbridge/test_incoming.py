"""What comes over a connection waits in order and bounded; an end or a break is told behind the bytes before it."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress

import pytest

from agentbridge.net import client, egress, incoming
from agentbridge.net.incoming import Incoming
from tests.waiting import PATIENCE

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
LIMITS = client.Limits(
    connect_seconds=PATIENCE, first_event_seconds=PATIENCE, idle_seconds=PATIENCE, stream_bytes=100_000_000
)
LONG = 20_000_000  # bytes, more than any socket takes at once
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Other:
    """The other end of one connection."""

    def __init__(self) -> None:
        self.line = Incoming()
        self.socket, self._ours = socket.socketpair()

    async def __aenter__(self) -> Other:
        self.socket.setblocking(False)
        await asyncio.get_running_loop().create_connection(lambda: self.line, sock=self._ours)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.line.close()
        self.socket.close()
        await asyncio.sleep(0)

    async def says(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def is_heard(self, seconds: float = PATIENCE) -> bytes:
        return await self.line.take(asyncio.get_running_loop().time() + seconds)


async def test_bytes_come_as_they_are_sent_and_then_the_end():
    async with Other() as other:
        await other.says(b"one")
        assert await other.is_heard() == b"one"
        waiting = asyncio.create_task(other.is_heard())
        await asyncio.sleep(0)
        await other.says(b"two")
        assert await waiting == b"two"
        other.socket.shutdown(socket.SHUT_WR)
        assert [await other.is_heard(), await other.is_heard()] == [b"", b""]


async def test_silence_ends_at_its_time_and_nothing_is_lost_by_it():
    async with Other() as other:
        with pytest.raises(TimeoutError):
            await other.is_heard(0.05)
        await other.says(b"late")
        assert await other.is_heard() == b"late"


async def test_a_connection_that_the_system_gave_up_was_not_silent_for_too_long():
    async with Other() as other:
        await other.says(b"one")
        await asyncio.sleep(0.05)
        other.line.connection_lost(TimeoutError(110, "Connection timed out"))
        assert await other.is_heard() == b"one"
        with pytest.raises(ConnectionError):
            await other.is_heard()


async def test_whoever_gives_up_waiting_leaves_the_bytes_to_the_next():
    async with Other() as other:
        waiting = asyncio.create_task(other.is_heard())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await other.says(b"kept")
        assert await other.is_heard() == b"kept"


async def test_who_is_not_listened_to_has_to_wait():
    async with Other() as other:
        sent = 8 * incoming.ROOM
        saying = asyncio.create_task(other.says(b"x" * sent))
        await asyncio.sleep(0.2)
        assert not saying.done()
        assert incoming.ROOM < len(other.line._fresh) <= 2 * incoming.ROOM
        got = 0
        while got < sent:
            got += len(await other.is_heard())
        await saying
        assert got == sent


async def test_who_says_much_at_once_leaves_others_their_turn():
    """Cut into chunks of one byte it takes long to read, and everybody's streams and leases wait for the loop."""
    async with Other() as other:
        other.line.data_received(b"x" * (incoming.PORTION + 1))
        assert len(await other.is_heard()) == incoming.PORTION
        turns = []
        asyncio.get_running_loop().call_soon(turns.append, "another")
        assert (len(await other.is_heard()), turns) == (1, ["another"])


async def test_closing_waits_for_nobody():
    async with Other() as other:
        other.line.write(b"x" * 10_000_000)  # which the other end never takes
        other.line.close()
        assert await other.is_heard() == b""


def test_closing_what_was_never_open_is_nothing():
    Incoming().close()


async def answered(serve) -> list[bytes]:
    """The parts of an answer, and last the kind of the error that ended it."""
    served: asyncio.Queue[asyncio.Task[None]] = asyncio.Queue()
    server = await asyncio.start_server(
        lambda reader, writer: served.put_nowait(asyncio.create_task(serve(reader, writer))), "127.0.0.1", 0
    )
    url, parts = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", []
    try:
        async with client.post(url, headers=(), body=b"x" * LONG, arm=client.at_once, limits=LIMITS) as answer:
            parts.append(b"%d" % answer.status)
            async for part in answer.aiter():
                parts.append(part)
                await asyncio.sleep(0.1)  # meanwhile the connection breaks
    except egress.EgressError as ended:
        parts.append(ended.kind.encode())
    await (await served.get())
    server.close()
    return parts


async def test_what_came_before_a_reset_is_handed_out():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(LONG)
        writer.write(HEAD + b"data: 1\n\n")
        await asyncio.sleep(0.05)
        writer.write(b"data: 2\n\n")
        await asyncio.sleep(0.02)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        await ended(writer)

    assert await answered(serve) == [b"200", b"data: 1\n\n", b"data: 2\n\n", b"reset"]


async def test_an_answer_may_come_before_the_request_is_read():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nlong")
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.3)
        await ended(writer)

    assert await answered(serve) == [b"413", b"long"]


async def ended(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with suppress(ConnectionError):
        await writer.wait_closed()

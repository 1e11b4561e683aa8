"""A real HTTP server on loopback that plays an AG-UI script, byte for byte, and counts what it was made to do.

    with ScriptedAgent([pausing("pay"), finishing("paid")]) as agent:
        … agent.url, agent.posts, agent.resumes

Each POST takes the next answer of the script; the last one is repeated. `__THREAD__` and `__RUN__` stand for the ids of
the request. The server runs in a thread of its own, so synchronous tests and other processes can talk to it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from tests.waiting import PATIENCE

Json = dict[str, Any]
RESET = "reset"  # cut the connection at once
HANG = "hang"  # keep it open and say nothing
# Bytes to send, seconds or an event of the test to wait for, RESET, HANG, something to do. An event that does not come
# in time cuts the connection.
Part = bytes | float | str | threading.Event | Callable[[], Any]


@dataclass(frozen=True)
class Answer:
    parts: Sequence[Part] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    head: bool = True  # False: the parts come instead of a head


@dataclass
class Post:
    """One request whose body arrived whole."""

    body: bytes
    headers: dict[str, str]
    at: float = field(default_factory=time.monotonic)

    @property
    def json(self) -> Json:
        return json.loads(self.body)

    @property
    def resume(self) -> list[Json] | None:
        return self.json.get("resume")


def frame(**event: Any) -> bytes:
    return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"


def started() -> bytes:
    return frame(type="RUN_STARTED", threadId="__THREAD__", runId="__RUN__")


def call(name: str = "pay", args: str = '{"amount": 12.50}', id_: str = "tc-1") -> bytes:
    return (
        frame(type="TOOL_CALL_START", toolCallId=id_, toolCallName=name)
        + frame(type="TOOL_CALL_ARGS", toolCallId=id_, delta=args)
        + frame(type="TOOL_CALL_END", toolCallId=id_)
    )


def result(text: str = "paid", id_: str = "tc-1", message: str = "m-1") -> bytes:
    return frame(type="TOOL_CALL_RESULT", messageId=message, toolCallId=id_, content=text)


def interrupt(id_: str = "int-1", call_id: str | None = "tc-1", **more: Any) -> Json:
    schema = {
        "type": "object", "required": ["approved"],
        "properties": {"approved": {"type": "boolean"}, "editedArgs": {"type": "object"}},
    }  # fmt: skip
    told = {"id": id_, "reason": "tool_call", "message": "May I?", "responseSchema": schema, **more}
    return told if call_id is None else {**told, "toolCallId": call_id}


def finished(*interrupts: Json) -> bytes:
    outcome = {"type": "interrupt", "interrupts": list(interrupts)} if interrupts else {"type": "success"}
    return frame(type="RUN_FINISHED", threadId="__THREAD__", runId="__RUN__", outcome=outcome)


def failed(message: str, code: str = "") -> bytes:
    return frame(type="RUN_ERROR", message=message, **({"code": code} if code else {}))


def pausing(*interrupts: Json, calls: bytes | None = None) -> Answer:
    """A run that proposes a call and pauses."""
    return Answer([started(), call() if calls is None else calls, finished(*(interrupts or (interrupt(),)))])


def finishing(text: str | None = "paid", id_: str = "tc-1") -> Answer:
    """A run that says what its call returned, and ends."""
    return Answer([started(), result(text, id_) if text is not None else b"", finished()])


class ScriptedAgent:
    def __init__(self, script: Sequence[Answer]) -> None:
        self.script = list(script)
        self.posts: list[Post] = []
        self.port = 0
        self.open = 0  # connections at this moment
        self.most_open = 0
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._place: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._ready = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/agent"

    @property
    def resumes(self) -> list[list[Json]]:
        return [post.resume for post in self.posts if post.resume is not None]

    def answer(self, post: Post) -> Answer:
        """The next of the script. Where many ask at once, a test puts in its place what depends on the request."""
        return self.script[min(len(self.posts), len(self.script)) - 1]

    def __enter__(self) -> ScriptedAgent:
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._leave_place()

    def down(self) -> None:
        """Refuse connections from now on; `up` takes them again at the same address.

        The port stays bound, though nobody listens: else another test's server could be given it meanwhile.
        """
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(PATIENCE)
        self._place = socket.socket()
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._place.bind(("127.0.0.1", self.port))

    def up(self) -> None:
        self._leave_place()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(PATIENCE)

    def _leave_place(self) -> None:
        if self._place is not None:
            self._place.close()
        self._place = None

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._open())
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._stop())
        self._loop.close()

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._handle, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _stop(self) -> None:
        await self._close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            post = await read_post(reader)
            if post is not None:
                self.posts.append(post)
                await play(self.answer(post), post, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side hung up, or the test is over: it looks at what arrived
        finally:
            self.open -= 1
            writer.close()


async def read_post(reader: asyncio.StreamReader) -> Post | None:
    """None for a connection on which nothing was asked."""
    first = await reader.readline()
    if not first:
        return None
    headers: dict[str, str] = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return Post(await reader.readexactly(int(headers.get("content-length", "0"))), headers)


async def play(answer: Answer, post: Post, writer: asyncio.StreamWriter) -> None:
    if answer.head:
        lines = [f"HTTP/1.1 {answer.status} Scripted", *(f"{k}: {v}" for k, v in answer.headers.items())]
        writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode())
    for part in answer.parts:
        if part == RESET:
            writer.transport.abort()
            return
        if part == HANG:
            await asyncio.sleep(3600)
        elif isinstance(part, threading.Event):
            if not await asyncio.to_thread(part.wait, PATIENCE):
                writer.transport.abort()
                return
        elif isinstance(part, float | int):
            await asyncio.sleep(part)
        elif isinstance(part, bytes):
            writer.write(named(part, post))
            await writer.drain()
        elif callable(part):
            part()


def named(part: bytes, post: Post) -> bytes:
    """The script's placeholders, replaced by what the request said."""
    for sign, name in ((b"__THREAD__", "threadId"), (b"__RUN__", "runId")):
        if sign in part:
            part = part.replace(sign, json.dumps(post.json[name])[1:-1].encode())
    return part

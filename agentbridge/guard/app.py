"""The guard as an ASGI application: the agent's own path for runs, documents below it by GET, and `/healthz`."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import aclosing
from typing import Any

from agentbridge.guard import asking, refusals
from agentbridge.guard.agent import Broken, Headers, Unreached
from agentbridge.guard.guarding import Guard
from agentbridge.guard.live import Live, Replay
from agentbridge.guard.refusals import BadInput, Busy, Refusal

log = logging.getLogger("guard")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
MARK = b"countersign-guard"  # on every answer that comes through here, with what was done
STREAM: Headers = [
    (b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no"),
]  # fmt: skip
RETRY_SECONDS = b"2"


class Application:
    """Stands in for exactly one endpoint: nobody walks around it by another path of the same server."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self.path = guard.agent.url.raw_path.partition(b"?")[0]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"This is no place for {scope['type']}.")
        method, path = scope["method"], scope.get("raw_path") or scope["path"].encode()
        path = path.partition(b"?")[0]
        ours = path.rstrip(b"/") in (b"", self.path.rstrip(b"/"))
        if path == b"/healthz" and method in ("GET", "HEAD"):
            await self._health(send)
        elif ours and method == "POST":
            await self._run(scope, receive, send)
        elif method in ("GET", "HEAD") and path.startswith(self.path.rstrip(b"/") + b"/"):
            await self._document(method, path, scope, send)
        else:
            where = self.path.decode("ascii", "replace")
            said = f"This guard takes runs by POST at {where} and at /, and nothing else."
            await problem(send, 405 if ours else 404, "not_here", said)

    async def _health(self, send: Send) -> None:
        doubts = await self.guard.db(self.guard.journal.doubts)
        told = {"ok": True, "running": len(self.guard.running), "inDoubt": len(doubts)}
        await whole(send, 200, [(b"content-type", b"application/json")], json.dumps(told).encode())

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        query, headers = scope.get("query_string", b""), scope["headers"]
        try:
            ask = asking.read(await body_of(receive, limit=self.guard.bounds.stream))
            source = await self.guard.ask(ask, headers=headers, query=query)
            await self._tell(source, ask.run_id, receive, send)
        except Refusal as refusal:
            log.info("Refused: %s %s", refusal.code, refusal)
            await whole(send, 200, [*STREAM, (MARK, b"refused")], refusals.run_error(refusal.code, str(refusal)))
        except BadInput as reason:
            await problem(send, 422, "no_input", str(reason))
        except Busy as reason:
            await problem(send, reason.status, "busy", str(reason), (b"retry-after", RETRY_SECONDS))
        except Unreached as reason:
            await problem(send, 502, "agent_unreachable", str(reason))
        except Broken as reason:
            await problem(send, 504, "agent_silent", str(reason))
        except sqlite3.Error as reason:
            log.error("The state file cannot be written: %s", reason)
            await problem(send, 503, "no_record", "Nothing is passed on that cannot be recorded.")

    async def _tell(self, source: Live | Replay, run_id: str, receive: Receive, send: Send) -> None:
        """Hand the stream out as it comes, until its end or until the listener is gone."""
        if isinstance(source, Live):
            source.followers += 1
        try:
            status, headers = await source.head if isinstance(source, Live) else (200, STREAM)
            done = b"passed" if isinstance(source, Live) else b"replayed"
            await send({"type": "http.response.start", "status": status, "headers": [*sendable(headers), (MARK, done)]})
            if await told(source.follow(run_id), receive, send):
                await self.guard.heard(source)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            if isinstance(source, Live):
                source.followers -= 1
            await self.guard.left(source)

    async def _document(self, method: str, path: bytes, scope: Scope, send: Send) -> None:
        """Capabilities and the like, passed through."""
        query = scope.get("query_string", b"")
        try:
            async with self.guard.agent.get(method, path, headers=scope["headers"], query=query) as answer:
                headers = [*sendable(answer.headers), (MARK, b"passed")]
                await send({"type": "http.response.start", "status": answer.status, "headers": headers})
                async for part in answer.body:
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except Unreached as reason:
            await problem(send, 502, "agent_unreachable", str(reason))


async def told(stream: AsyncGenerator[bytes, None], receive: Receive, send: Send) -> bool:
    """True when all of it was handed out, False when the listener went away before."""
    gone: asyncio.Future[Any] = asyncio.ensure_future(until_gone(receive))
    watched = [gone]
    try:
        async with aclosing(stream) as parts:
            while True:
                watched[1:] = [coming := asyncio.ensure_future(anext(parts, None))]
                await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
                if gone.done():
                    await put_away(watched)
                    return False
                part = coming.result()
                if part is None:
                    return True
                if part:
                    await send({"type": "http.response.body", "body": part, "more_body": True})
    finally:
        await put_away(watched)


async def put_away(tasks: Sequence[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def body_of(receive: Receive, *, limit: int) -> bytes:
    """Raises BadInput for one that is too long or not whole."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadInput("The request ended too early.")
        body += message.get("body", b"")
        if len(body) > limit:
            raise BadInput(f"The input is longer than {limit} bytes.")
        if not message.get("more_body"):
            return bytes(body)


def sendable(headers: Headers) -> list[tuple[bytes, bytes]]:
    """A stream that may break off, or be told under another run id, has no length beforehand."""
    return [(name.lower(), value) for name, value in headers if name.lower() not in (b"content-length", b"date")]


async def whole(send: Send, status: int, headers: Headers, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def problem(send: Send, status: int, code: str, detail: str, *more: tuple[bytes, bytes]) -> None:
    told = {"type": "about:blank", "title": "The guard did not pass this on.", "status": status, "code": code,
            "detail": detail}  # fmt: skip
    headers = [(b"content-type", b"application/problem+json"), (MARK, b"refused"), *more]
    await whole(send, status, headers, json.dumps(told).encode())

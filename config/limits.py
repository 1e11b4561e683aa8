"""Counts request bodies before Django sees them: its ASGI handler spools any length to disk first."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

WHOLE_RUNS = "/agui/"  # relay and push: as long as a stream may be


def limit_for(path: str) -> int:
    return int(settings.STREAM_LIMIT if path.startswith(WHOLE_RUNS) else settings.BODY_LIMIT)


@dataclass
class BodyLimit:
    """ASGI middleware: a request whose body is too long is answered 413 and its application stopped."""

    app: Application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = limit_for(scope["path"])
        if _declared(scope) > limit:
            await _refuse(scope, send, limit)
            return
        counted = _Counted(receive, send, limit)
        await self.app(scope, counted.receive, counted.send)
        if counted.over:
            await _refuse(scope, send, limit)


@dataclass
class _Counted:
    """One request: past the limit the application sees a client that went away, and is not heard any more."""

    _receive: Receive
    _send: Send
    limit: int
    got: int = 0
    over: bool = False
    answered: bool = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self.got += len(message.get("body", b""))
        if self.got > self.limit and not self.answered:
            self.over = True
            return {"type": "http.disconnect"}
        return message

    async def send(self, message: Message) -> None:
        if not self.over:
            self.answered = True
            await self._send(message)


def _declared(scope: Scope) -> int:
    lengths = [value for name, value in scope["headers"] if name == b"content-length" and value.isdigit()]
    return max((int(value) for value in lengths), default=0)


async def _refuse(scope: Scope, send: Send, limit: int) -> None:
    title, detail = "Content Too Large", f"The request body is longer than {limit} bytes."
    problem = {"type": "about:blank", "title": title, "status": 413, "code": "too_large", "detail": detail}
    if scope["path"].startswith(("/api/", WHOLE_RUNS)):
        kind, body = b"application/problem+json", json.dumps(problem).encode()
    else:
        kind, body = b"text/plain; charset=utf-8", detail.encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})

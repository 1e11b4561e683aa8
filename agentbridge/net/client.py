"""Posts a RunAgentInput to an agent and hands out the answering bytes as they come."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from django.conf import settings
from django.utils.translation import gettext as _

from agentbridge.net import egress

EVENT_STREAM = "text/event-stream"
ERROR_BODY_LIMIT = 64 * 1024  # of an answer that is no event stream: enough to show what went wrong

OURS = (("Accept", EVENT_STREAM), ("Accept-Encoding", "identity"), ("Content-Type", "application/json"))
# Set here or by HTTP itself; an agent's own headers must not change how its bytes are framed.
RESERVED = {name.lower() for name, _value in OURS} | {
    "connection", "content-encoding", "content-length", "expect", "host", "keep-alive", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|^\s|\s$")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How long an answer may take and how long it may be."""

    connect_seconds: float
    first_event_seconds: float
    idle_seconds: float  # between two chunks; comments count as life
    stream_bytes: int

    @classmethod
    def from_settings(cls) -> Limits:
        return cls(
            connect_seconds=settings.CONNECT_SECONDS,
            first_event_seconds=settings.FIRST_EVENT_SECONDS,
            idle_seconds=settings.IDLE_SECONDS,
            stream_bytes=settings.STREAM_LIMIT,
        )


class Answer:
    """What the agent answers: its head at once, its body by `aiter()`, once."""

    def __init__(self, reply: egress.Reply, *, progress: egress.Progress, limits: Limits) -> None:
        self.status, self.headers = reply.status, reply.headers
        self.bytes_received = 0
        self._reply, self._progress, self._limits = reply, progress, limits

    @property
    def bytes_sent(self) -> int:
        return self._progress.bytes_sent

    @property
    def content_type(self) -> str:
        """The media type in lower case, without parameters."""
        return self.header("content-type").partition(";")[0].strip().lower()

    def header(self, name: str) -> str:
        """The first value, or ""."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def is_stream(self) -> bool:
        return self.status == 200 and self.content_type == EVENT_STREAM

    async def aiter(self) -> AsyncIterator[bytes]:
        """Raw bytes as they arrive. Raises EgressError (nothing_sent=False) on silence, a break or too much.

        An answer that is no event stream ends without an error after 64 kB.
        """
        time, wait = asyncio.get_running_loop().time, self._limits.first_event_seconds
        most = self._limits.stream_bytes if self.is_stream else ERROR_BODY_LIMIT
        with egress.translated(self._progress):
            while (part := await self._reply.part(time() + wait)) is not None:
                wait, room = self._limits.idle_seconds, most - self.bytes_received
                self.bytes_received += min(len(part), room)
                if part[:room]:
                    yield part[:room]
                if len(part) > room:
                    self._too_much()
                    return

    def _too_much(self) -> None:
        if self.is_stream:
            text = _("The answer is longer than %(limit)s bytes.") % {"limit": self._limits.stream_bytes}
            raise egress.EgressError("limit", text, nothing_sent=False)


@asynccontextmanager
async def post(
    url: str,
    *,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    arm: Callable[[], Awaitable[None]],
    limits: Limits | None = None,
) -> AsyncIterator[Answer]:
    """Connect, await `arm()`, then send. `arm` raising aborts with nothing sent, and that exception comes out here.

    Raises EgressError; leaving the block closes the connection.
    """
    check_headers(headers)
    async with _exchange("POST", url, [*OURS, *headers], body, arm, limits) as answer:
        yield answer


@asynccontextmanager
async def fetch(
    url: str, *, headers: Sequence[tuple[str, str]] = (), limits: Limits | None = None
) -> AsyncIterator[Answer]:
    """GET a small document that stands beside an agent. Raises EgressError."""
    check_headers(headers)
    ours = [("Accept", "application/json, */*;q=0.5"), ("Accept-Encoding", "identity")]
    async with _exchange("GET", url, [*ours, *headers], b"", at_once, limits) as answer:
        yield answer


async def at_once() -> None:
    """Nothing depends on the moment of the first byte."""


@asynccontextmanager
async def _exchange(
    method: Literal["POST", "GET"],
    url: str,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    arm: Callable[[], Awaitable[None]],
    limits: Limits | None,
) -> AsyncIterator[Answer]:
    limits = limits or Limits.from_settings()
    progress = egress.Progress(before_first_byte=arm, first_byte_seconds=limits.first_event_seconds)
    async with egress.exchange(
        method,
        url,
        headers=headers,
        body=body,
        progress=progress,
        connect_seconds=limits.connect_seconds,
    ) as reply:
        yield Answer(reply, progress=progress, limits=limits)


def check_headers(headers: Sequence[tuple[str, str]]) -> None:
    """Raises NotAllowed for a header that an agent's credentials must not set. Never quotes a value."""
    for name, value in headers:
        if not TOKEN.fullmatch(name) or CONTROL.search(value):
            raise egress.NotAllowed(_("The header %(name)s cannot be sent as it is written.") % {"name": name})
        if name.lower() in RESERVED:
            raise egress.NotAllowed(_("The header %(name)s is set by the bridge itself.") % {"name": name})

"""The guard's one way to the agent: a fresh connection a request, no redirects, no proxies, nothing decompressed."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

# Of one connection, not of the message (RFC 9110, 7.6.1); `content-length` is written anew by whoever sends the bytes.
HOP = {
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te", b"trailer",
    b"transfer-encoding", b"upgrade",
}  # fmt: skip
NOT_SENT = HOP | {b"host", b"content-length", b"accept-encoding", b"expect"}
CONNECT_SECONDS = 5.0
Headers = Sequence[tuple[bytes, bytes]]


class Unreached(Exception):
    """Not one byte left us."""


class Broken(Exception):
    """The answer was cut off, or did not come; what the agent did is not known."""


@dataclass
class Answer:
    """`body` hands out the bytes as they come; it raises Broken."""

    status: int
    headers: Headers
    body: AsyncGenerator[bytes, None]

    def header(self, name: bytes) -> bytes:
        return next((value for key, value in self.headers if key.lower() == name), b"")

    @property
    def is_stream(self) -> bool:
        kind = self.header(b"content-type").partition(b";")[0].strip().lower()
        return self.status == 200 and kind == b"text/event-stream"


class Agent:
    """The endpoint at `url`. `silence`: seconds without a byte after which it is given up."""

    def __init__(self, url: str, *, silence: float) -> None:
        self.url = httpx2.URL(url)
        self.silence = silence
        secured = self.url.scheme == "https"  # loading the authorities takes longer than a handshake
        self._tls = httpx2.create_ssl_context() if secured else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    @asynccontextmanager
    async def post(
        self, body: bytes, *, headers: Headers, query: bytes, arm: Callable[[], Awaitable[None]]
    ) -> AsyncIterator[Answer]:
        """`arm` is awaited when the connection stands, before the first byte; what it raises comes out here.

        Raises Unreached, Broken.
        """
        refusal: list[BaseException] = []

        async def trace(event: str, _info: Any) -> None:
            if event == "http11.send_request_headers.started":
                try:
                    await arm()
                except BaseException as reason:
                    refusal.append(reason)
                    raise

        url = self.url.copy_with(query=query) if query else self.url
        async with self._client() as client:
            request = client.build_request(
                "POST", url, content=body, headers=passed_on(headers), extensions={"trace": trace}
            )
            try:
                response = await client.send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as trouble:
                raise Unreached(f"The agent cannot be reached: {trouble or type(trouble).__name__}.") from trouble
            except httpx2.TransportError as trouble:
                if refusal:
                    raise refusal[0] from trouble
                raise Broken(f"The agent did not answer: {trouble or type(trouble).__name__}.") from trouble
            try:
                yield Answer(response.status_code, kept(response.headers.raw), _body(response))
            finally:
                await response.aclose()

    @asynccontextmanager
    async def get(self, method: str, path: bytes, *, headers: Headers, query: bytes) -> AsyncIterator[Answer]:
        """A document beside the endpoint. Raises Unreached, Broken."""
        url = self.url.copy_with(raw_path=path + (b"?" + query if query else b""))
        async with self._client() as client:
            try:
                response = await client.send(client.build_request(method, url, headers=passed_on(headers)), stream=True)
            except httpx2.TransportError as trouble:
                raise Unreached(f"The agent cannot be reached: {trouble or type(trouble).__name__}.") from trouble
            try:
                yield Answer(response.status_code, kept(response.headers.raw), _body(response))
            finally:
                await response.aclose()

    def _client(self) -> httpx2.AsyncClient:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        times = httpx2.Timeout(self.silence, connect=CONNECT_SECONDS)
        client = httpx2.AsyncClient(trust_env=False, verify=self._tls, limits=limits, timeout=times)
        client.headers.clear()
        return client


async def _body(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    try:
        async for part in response.aiter_raw():
            yield part
    except httpx2.TransportError as trouble:
        raise Broken(f"The connection to the agent broke: {trouble or type(trouble).__name__}.") from trouble


def fetch(url: str) -> bytes:
    """A small document, at once. Raises Unreached."""
    try:
        with httpx2.Client(trust_env=False, timeout=CONNECT_SECONDS) as client:
            return client.get(url).raise_for_status().content
    except httpx2.HTTPError as trouble:
        raise Unreached(f"{trouble or type(trouble).__name__}") from trouble


def passed_on(headers: Headers) -> list[tuple[bytes, bytes]]:
    """A compressed answer could not be read here, so none is asked for."""
    found = [(name, value) for name, value in headers if name.lower() not in NOT_SENT]
    return [*found, (b"accept-encoding", b"identity")]


def kept(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() not in HOP]

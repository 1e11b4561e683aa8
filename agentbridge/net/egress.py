"""The only file that opens connections: where they may go, and nothing more than was asked for.

The address policy is checked on the address that is connected to, not on a name that may resolve differently a moment
later. No redirects, no proxies from the environment, no decompression, no kept-alive connections.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from typing import Any, Literal

import httpcore2
import httpx2
from django.utils.translation import gettext as _

from agentbridge.net.allowlist import Address
from agentbridge.net.policy import EgressError, Kind, Moment, NotAllowed, Policy

__all__ = [
    "EgressError", "NotAllowed", "Policy", "Progress", "check_url", "exchange", "look_up", "origin", "translated",
]  # fmt: skip

LOOK_UP_SECONDS = 3  # a person waits for it


def check_url(url: str) -> httpx2.URL:
    """The address of an agent in its parsed form. Raises NotAllowed for what no agent's address may be."""
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError):
        raise NotAllowed(_("This is not an address.")) from None
    if parsed.scheme not in ("http", "https"):
        raise NotAllowed(_("Only http and https addresses are allowed."))
    if not parsed.raw_host or not 0 < (parsed.port or 443) < 65_536:
        raise NotAllowed(_("The address names no host, or no possible port."))
    if parsed.userinfo:
        raise NotAllowed(_("An address must not hold a user name or password; use a header instead."))
    return parsed


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: what credentials are bound to. Raises NotAllowed."""
    parsed = check_url(url)
    return parsed.scheme, parsed.host, parsed.port


async def look_up(url: str, policy: Policy | None = None) -> None:
    """Would we be let there now? Nothing is connected to. Raises NotAllowed, or EgressError for an unknown name."""
    parsed = check_url(url)
    host, port = parsed.raw_host.decode("ascii"), parsed.port or (443 if parsed.scheme == "https" else 80)
    try:
        async with asyncio.timeout(LOOK_UP_SECONDS):
            found = await _resolve(host, port)
    except TimeoutError:
        raise EgressError("dns", _("The name could not be looked up in time."), nothing_sent=True) from None
    _allowed(policy or Policy.from_settings(), parsed.scheme, host, port, found)


@dataclass
class Progress:
    """How far one request got: what an error means, and which time limit holds, depends on it."""

    before_first_byte: Moment
    first_byte_seconds: float
    stage: Literal["connecting", "securing", "arming", "sending"] = "connecting"
    bytes_sent: int = 0  # that may have left us
    refusal: BaseException | None = None  # what `before_first_byte` raised
    clock: asyncio.Timeout | None = None

    @property
    def nothing_sent(self) -> bool:
        return self.stage != "sending"

    async def arm(self) -> None:
        """Once, after TCP and TLS are up. If it raises, nothing is written."""
        self.stage = "arming"
        self._allow(None)
        try:
            await self.before_first_byte()
        except BaseException as refusal:
            self.refusal = refusal
            raise
        self.stage = "sending"
        self._allow(self.first_byte_seconds)

    def _allow(self, seconds: float | None) -> None:
        if self.clock:
            self.clock.reschedule(None if seconds is None else asyncio.get_running_loop().time() + seconds)


class ArmedStream(httpcore2.AsyncNetworkStream):
    """A connection whose first byte waits for `Progress.arm`."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream, progress: Progress) -> None:
        self._stream, self._progress = stream, progress

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._progress.stage != "sending":
            await self._progress.arm()
        self._progress.bytes_sent += len(buffer)
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        # The handshake writes below this class, so it does not arm.
        self._progress.stage = "securing"
        return ArmedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._progress)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Resolves, asks the policy about each address, and connects to a number that it allows; SNI and Host stay."""

    def __init__(self, policy: Policy, scheme: str, progress: Progress) -> None:
        self.policy, self.scheme, self.progress = policy, scheme, progress
        self._backend = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        failure: Exception | None = None
        for address in _allowed(self.policy, self.scheme, host, port, await _resolve(host, port)):
            try:
                stream = await self._backend.connect_tcp(str(address), port, timeout, local_address, socket_options)
                return ArmedStream(stream, self.progress)
            except httpcore2.ConnectError as refused:
                failure = refused
        raise failure or NotAllowed(_("%(host)s has no address.") % {"host": host})


def _allowed(policy: Policy, scheme: str, host: str, port: int, found: Sequence[Address]) -> list[Address]:
    """The addresses that pass. When none does, raises the reason why the first one did not."""
    allowed, reasons = [], []
    for address in found:
        try:
            policy.check(host, port, scheme, address)
            allowed.append(address)
        except NotAllowed as reason:
            reasons.append(reason)
    if reasons and not allowed:
        raise reasons[0]
    return allowed


async def _resolve(host: str, port: int) -> list[Address]:
    with suppress(ValueError):  # a number needs nobody to look it up, and no thread to wait for that
        return [ip_address(host.strip("[]").partition("%")[0])]
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise EgressError("dns", _("The name %(host)s is not known.") % {"host": host}, nothing_sent=True) from None
    return list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


@cache
def _tls() -> ssl.SSLContext:
    # Made once: loading the authorities takes longer than a handshake. SSL_CERT_FILE names an authority of one's own.
    return httpx2.create_ssl_context()


class Transport(httpx2.AsyncBaseTransport):
    """One new connection per request: nothing is ever written to one that may have died while idle."""

    def __init__(self, policy: Policy, progress: Progress) -> None:
        self.policy, self.progress = policy, progress

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        pool = httpcore2.AsyncConnectionPool(
            ssl_context=_tls() if url.scheme == "https" else None,  # the authorities take 0.1 s to load
            max_connections=None,
            max_keepalive_connections=0,
            network_backend=GuardedBackend(self.policy, url.scheme, self.progress),
        )
        answer = await pool.handle_async_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx2.Response(answer.status, headers=answer.headers, stream=Body(answer))


class Body(httpx2.AsyncByteStream):
    def __init__(self, answer: httpcore2.Response) -> None:
        self.answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self.answer.aiter_stream():
            yield part

    async def aclose(self) -> None:
        await self.answer.aclose()


@contextmanager
def translated(progress: Progress) -> Iterator[None]:
    """Turn what the libraries raise into EgressError; what `before_first_byte` raised passes as it is."""
    try:
        yield
    except (httpcore2.TimeoutException, TimeoutError, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        if error is progress.refusal:
            raise
        kind, sentence = _meaning(error, progress.stage)
        raise EgressError(kind, sentence, nothing_sent=progress.nothing_sent) from error


def _meaning(error: Exception, stage: str) -> tuple[Kind, str]:
    if isinstance(error, httpcore2.TimeoutException | TimeoutError):
        return "timeout", _("The agent did not answer in time.") if stage == "sending" else _(
            "The agent could not be reached in time."
        )
    if stage == "securing":
        return "tls", _("The agent's certificate or TLS is not accepted: %(reason)s") % {"reason": error}
    if stage == "connecting":
        return "refused", _("The agent refuses connections.")
    return "reset", _("The connection to the agent broke.")


@asynccontextmanager
async def exchange(
    method: Literal["POST", "GET"],
    url: str,
    *,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    progress: Progress,
    connect_seconds: float,
    policy: Policy | None = None,
) -> AsyncIterator[httpx2.Response]:
    """Connect (TCP and TLS), arm, and only then write. Yields the head of the answer; its body is still to be read.

    Raises EgressError, or what `progress.before_first_byte` raised; the connection then closes unused.
    """
    request = httpx2.Request(
        method,
        check_url(url),
        headers=[(name.encode("ascii"), value.encode()) for name, value in headers],
        content=body,
    )
    with translated(progress):
        # One clock for all of it: httpcore's own limits are per system call.
        async with asyncio.timeout(connect_seconds) as progress.clock:
            response = await Transport(policy or Policy.from_settings(), progress).handle_async_request(request)
    progress.clock = None
    try:
        yield response
    finally:
        await response.aclose()

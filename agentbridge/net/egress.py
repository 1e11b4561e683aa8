"""The only file that opens connections: where they may go, and nothing more than was asked for.

The address policy is checked on the address that is connected to, not on a name that may resolve differently a moment
later. No redirects, no proxies from the environment, no decompression, no kept-alive connections.
"""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from typing import Literal

import h11
import httpx2
from django.utils.translation import gettext as _

from agentbridge.net.allowlist import Address
from agentbridge.net.incoming import Incoming
from agentbridge.net.policy import EgressError, Kind, Moment, NotAllowed, Policy

__all__ = [
    "EgressError", "NotAllowed", "Policy", "Progress", "Reply", "check_url", "exchange", "look_up", "origin",
    "translated",
]  # fmt: skip

LOOK_UP_SECONDS = 3  # a person waits for it
HEAD_LIMIT = 100 * 1024  # of an answer's head, and of the line before a chunk


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
    host, port = _whereabouts(parsed)
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


async def connect(place: httpx2.URL, policy: Policy, progress: Progress, line: Incoming) -> None:
    """TCP and TLS, to a number that the policy allows; the name stays what the certificate is asked for."""
    host, port = _whereabouts(place)
    await _reach(line, _allowed(policy, place.scheme, host, port, await _resolve(host, port)), host, port)
    if place.scheme == "https":
        progress.stage = "securing"
        await line.secure(_tls(), host)


async def _reach(line: Incoming, addresses: Sequence[Address], host: str, port: int) -> None:
    """The first address that answers. Raises what the last one said."""
    failure: OSError | None = None
    for address in addresses:
        try:
            await asyncio.get_running_loop().create_connection(lambda: line, str(address), port)
            return
        except OSError as refused:
            failure = refused
    raise failure or NotAllowed(_("%(host)s has no address.") % {"host": host})


def _whereabouts(place: httpx2.URL) -> tuple[str, int]:
    return place.raw_host.decode("ascii"), place.port or (443 if place.scheme == "https" else 80)


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
    context = httpx2.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class Reply:
    """One request and what is answered, over a connection of its own: none is used that may have died while idle."""

    def __init__(self, line: Incoming) -> None:
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self._line = line
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_LIMIT)

    def request(self, method: str, place: httpx2.URL, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
        """The bytes to send, all of them."""
        fields = [(b"Host", place.netloc), *((name.encode("ascii"), value.encode()) for name, value in headers)]
        if body or method == "POST":
            fields.append((b"Content-Length", b"%d" % len(body)))
        asked = h11.Request(method=method, target=place.raw_path, headers=fields)
        parts = [self._http.send(event) for event in (asked, h11.Data(data=body), h11.EndOfMessage())]
        return b"".join(part for part in parts if part)

    async def begin(self) -> None:
        """Wait for the head."""
        while not isinstance(event := await self._event(math.inf), h11.Response):
            pass  # 100 and its kind
        self.status = event.status_code
        self.headers = httpx2.Headers(event.headers.raw_items()).multi_items()

    async def part(self, until: float) -> bytes | None:
        """The next bytes of the body, None behind its end. Raises TimeoutError at `until`, by the loop's clock."""
        event = await self._event(until)
        return bytes(event.data) if isinstance(event, h11.Data) else None

    async def _event(self, until: float) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._line.take(until))
        return event


@contextmanager
def translated(progress: Progress) -> Iterator[None]:
    """Turn what the libraries raise into EgressError; what `before_first_byte` raised passes as it is."""
    try:
        yield
    except (OSError, h11.ProtocolError) as error:  # a TimeoutError is an OSError
        if error is progress.refusal:
            raise
        kind, sentence = _meaning(error, progress.stage)
        raise EgressError(kind, sentence, nothing_sent=progress.nothing_sent) from error


def _meaning(error: Exception, stage: str) -> tuple[Kind, str]:
    if isinstance(error, TimeoutError):
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
) -> AsyncIterator[Reply]:
    """Connect (TCP and TLS), arm, and only then write. Yields the head of the answer; its body is still to be read.

    Raises EgressError, or what `progress.before_first_byte` raised; the connection then closes unused.
    """
    place, line = check_url(url), Incoming()
    reply = Reply(line)
    try:
        with translated(progress):
            said = reply.request(method, place, headers, body)
            async with asyncio.timeout(connect_seconds) as progress.clock:
                await connect(place, policy or Policy.from_settings(), progress, line)
                await progress.arm()
                progress.bytes_sent = len(said)
                line.write(said)
                await reply.begin()
        progress.clock = None
        yield reply
    finally:
        line.close()

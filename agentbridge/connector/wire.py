"""HTTP as the connector needs it: one request, one connection, no redirects, no proxies."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

Errors = (OSError, http.client.HTTPException)
PART = 64 * 1024


class Unreached(OSError):
    """There was no connection: not a byte of the request has left."""


@dataclass(frozen=True)
class Place:
    """An address, taken apart once."""

    https: bool
    host: str
    port: int | None
    path: str

    @classmethod
    def of(cls, url: str) -> Place:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url} is no http or https address.")
        query = f"?{parts.query}" if parts.query else ""
        return cls(parts.scheme == "https", parts.hostname, parts.port, (parts.path or "/") + query)


@contextmanager
def exchange(
    method: str, url: str, *, body: bytes = b"", headers: Mapping[str, str], seconds: float
) -> Iterator[http.client.HTTPResponse]:
    """Raises one of `Errors`, of them Unreached where nothing was sent; `seconds` is the longest silence."""
    place = Place.of(url)
    if place.https:
        secured = http.client.HTTPSConnection(
            place.host, place.port, timeout=seconds, context=ssl.create_default_context()
        )
    connection = secured if place.https else http.client.HTTPConnection(place.host, place.port, timeout=seconds)
    try:
        connect(connection)
        connection.request(method, place.path, body=body or None, headers={**headers, "Accept-Encoding": "identity"})
        yield connection.getresponse()
    finally:
        connection.close()


def connect(connection: http.client.HTTPConnection) -> None:
    """Up to the end of the TLS handshake. Raises Unreached."""
    try:
        connection.connect()
    except Errors as trouble:
        raise Unreached(str(trouble)) from trouble


def parts(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    """The body as it comes. Raises one of `Errors`, also when it ends before its announced end."""
    while part := answer.read1(PART):
        yield part
    if answer.length:
        raise http.client.IncompleteRead(b"", answer.length)


def read(answer: http.client.HTTPResponse) -> tuple[bytes, Exception | None]:
    """A small body, as far as it came, and what kept the rest from coming."""
    body = bytearray()
    try:
        for part in parts(answer):
            body += part
    except Errors as trouble:
        return bytes(body), trouble
    return bytes(body), None

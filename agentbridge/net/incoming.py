"""One end of a connection: what came over it until it is taken, in order and bounded. `egress` opens and secures it."""

from __future__ import annotations

import asyncio
import ssl
from typing import cast

ROOM = 256 * 1024  # so much may lie here; then the other side is told to wait, by TCP itself
PORTION = 64 * 1024  # so much is handed out in one turn of the loop: in chunks of one byte it is read for 0.1 s


class Incoming(asyncio.Protocol):
    """A socket is watched from its opening to its end, and not anew for each read."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._open = False
        self._fresh = bytearray()
        self._full = self._over = False
        self._trouble: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def secure(self, context: ssl.SSLContext, host: str) -> None:
        """From here on by TLS, with the certificate of `host`."""
        start_tls = asyncio.get_running_loop().start_tls
        secured = await start_tls(self._transport, self, context, server_hostname=host)
        self._transport = cast("asyncio.Transport", secured)

    def write(self, data: bytes) -> None:
        """All of it at once: what the socket does not take now, the transport sends."""
        self._transport.write(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._open = cast("asyncio.Transport", transport), True

    def data_received(self, data: bytes) -> None:
        self._fresh += data
        if len(self._fresh) > ROOM and not self._full:
            self._full = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Nothing more will come. Our own end then closes by itself, after what is still to be written."""
        self._over = True
        self._wake()

    def connection_lost(self, trouble: Exception | None) -> None:
        self._over, self._trouble = True, trouble
        self._wake()

    async def take(self, until: float) -> bytes:
        """The next that came; b"" at its end.

        Raises TimeoutError at `until`; where it broke, ConnectionError behind it all.
        """
        if self._fresh:
            await asyncio.sleep(0)  # whoever says much at once must not keep the loop from all others
        elif not self._over:
            await self._news(until)
        if not self._fresh and self._trouble is not None:
            raise ConnectionError from self._trouble  # a TimeoutError may be among them, which was not ours
        taken = bytes(self._fresh[:PORTION])
        del self._fresh[:PORTION]
        if self._full and len(self._fresh) <= ROOM:
            self._full = False
            self._transport.resume_reading()
        return taken

    def close(self) -> None:
        """At once, whatever is still on its way."""
        if self._open:
            self._transport.abort()

    async def _news(self, until: float) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        late = loop.call_at(until, self._wake, TimeoutError())
        try:
            await self._waiter
        finally:
            late.cancel()
            self._waiter = None

    def _wake(self, late: TimeoutError | None = None) -> None:
        if self._waiter is None or self._waiter.done():
            return
        if late is None:
            self._waiter.set_result(None)
        else:
            self._waiter.set_exception(late)

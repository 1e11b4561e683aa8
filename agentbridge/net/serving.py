"""Daphne with patience and a bound; an answer that breaks in the middle breaks off for its client, and for nobody else.

By itself Daphne takes whatever the application writes: a client that does not read fills this process's memory. And it
tries to answer 500 where an answer has begun; that fails, its client waits for ever, and the loop that puts away
finished requests has ended with it.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

from daphne.server import Server
from twisted.internet.interfaces import IPushProducer
from twisted.web.http import toChunk
from zope.interface import implementer

from agentbridge.net import bodies
from agentbridge.net.extension import WRITE

log = logging.getLogger("agentbridge.net.serving")

STALLED_SECONDS = 120.0  # without taking what waits for it, a client is gone or wants to hold us


@implementer(IPushProducer)
class Tap:
    """What Twisted tells when a connection's buffer is full, and when it has room again."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.gave_up = False

    def pauseProducing(self) -> None:
        self.open.clear()

    def resumeProducing(self) -> None:
        self.open.set()

    def stopProducing(self) -> None:
        self.open.set()


class SteadyServer(Server):  # type: ignore[misc] # Daphne tells no types
    """Each part of an answer waits until the one before it has left.

    What the application raises before its answer begins is Daphne's to answer. A client that takes nothing for
    `patience` seconds is cut off, and the application hears that it has gone, as of any other. (Raising into it would
    end a request of Django's without its end: its connection would not go back to the pool.)
    """

    def __init__(
        self, application: Any, *, patience: float = STALLED_SECONDS, body_limit: int = bodies.KEPT, **more: Any
    ) -> None:
        super().__init__(application=application, server_name="", **more)
        self._application, self._patience, self._body_limit = application, patience, body_limit
        self.application = self._answered

    @property
    def http_factory(self) -> bodies.BoundedFactory:
        return self._factory

    @http_factory.setter
    def http_factory(self, _daphnes: Any) -> None:
        self._factory = bodies.BoundedFactory(self, body_limit=self._body_limit)

    async def _answered(self, scope: Any, receive: Any, send: Any) -> None:
        (protocol,) = send.args  # `Server.create_application` binds it
        scope.setdefault("extensions", {})[WRITE] = partial(self.write, protocol)
        try:
            await self._application(scope, receive, send)
        except asyncio.CancelledError:
            self._break_off(protocol)
            raise
        except ConnectionAbortedError:
            self._break_off(protocol)
        except Exception:
            if not getattr(protocol, "_response_started", False):
                raise
            log.exception("An answer broke off.")
            self._break_off(protocol)

    def _break_off(self, protocol: Any) -> None:
        """Without its last chunk: the client sees that this was not all. What it does not take is not kept for it."""
        if not getattr(protocol, "_response_started", False):  # nothing was said yet, or it is a WebSocket
            return
        tap = self.connections.get(protocol, {}).get("tap")
        if tap is None or tap.open.is_set():
            protocol.loseConnection()
        elif protocol.channel is not None:
            protocol.channel.transport.abortConnection()

    async def handle_reply(self, protocol: Any, message: Any) -> None:
        tap = self.connections.get(protocol, {}).get("tap")
        if message["type"] == "http.response.start" and protocol in self.connections and tap is None:
            tap = self.connections[protocol]["tap"] = Tap()
            protocol.registerProducer(tap, True)
        if tap is not None and not tap.open.is_set() and not tap.gave_up:
            await self._room(protocol, tap)
        if tap is not None and tap.gave_up:
            await asyncio.sleep(0)  # in the next turn of the loop it is told; nothing more is kept for this client
            return
        last = message["type"] == "http.response.body" and not message.get("more_body")
        if tap is not None and last and protocol.channel is not None:
            protocol.unregisterProducer()
        await super().handle_reply(protocol, message)

    def write(self, protocol: Any, part: bytes) -> bool:
        """`extension.Write`. Twisted would watch the socket first: a turn of the loop and two system calls more."""
        known = self.connections.get(protocol, {})
        begun = protocol.channel is not None and protocol.chunked and "tap" in known and not known.get("disconnected")
        if not (part and begun and _is_free(protocol.channel.transport)):
            return False
        transport = protocol.channel.transport
        framed = b"".join(toChunk(part))
        sent = transport.writeSomeData(framed)
        protocol.sentLength += len(part)
        if sent != len(framed):
            transport.write(framed[sent if isinstance(sent, int) else 0 :])  # a socket that fails fails there again
        return True

    async def _room(self, protocol: Any, tap: Tap) -> None:
        try:
            async with asyncio.timeout(self._patience):
                await tap.open.wait()
        except TimeoutError:
            log.warning("A client that did not read was cut off.")
            self._break_off(protocol)
            tap.gave_up = True


def _is_free(transport: Any) -> bool:
    """Nothing waits for its turn on this socket."""
    return transport.connected and not (transport.disconnecting or transport.dataBuffer or transport._tempDataLen)

"""Daphne, with patience: whoever listens slowly holds back their own stream, not this process's memory."""

from __future__ import annotations

import asyncio
from typing import Any

from daphne.endpoints import build_endpoint_description_strings
from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from agentbridge.net.serving import SteadyServer


@implementer(IPushProducer)
class Tap:
    """What Twisted tells when a connection's buffer is full, and when it has room again."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()

    def pauseProducing(self) -> None:
        self.open.clear()

    def resumeProducing(self) -> None:
        self.open.set()

    def stopProducing(self) -> None:
        self.open.set()


class PatientServer(SteadyServer):
    """Each part waits until the one before it has left."""

    def __init__(self, application: Any, *, host: str, port: int, **more: Any) -> None:
        super().__init__(
            application, endpoints=build_endpoint_description_strings(host=host, port=port), **more
        )

    async def handle_reply(self, protocol: Any, message: Any) -> None:
        tap = self.connections.get(protocol, {}).get("tap")
        if message["type"] == "http.response.start" and protocol in self.connections and tap is None:
            tap = self.connections[protocol]["tap"] = Tap()
            protocol.registerProducer(tap, True)
        if tap is not None:
            await tap.open.wait()
        if tap is not None and message["type"] == "http.response.body" and not message.get("more_body"):
            protocol.unregisterProducer()
        await super().handle_reply(protocol, message)

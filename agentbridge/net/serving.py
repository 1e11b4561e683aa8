"""Daphne, but an answer that breaks in the middle breaks off for its client, and for nobody else.

By itself Daphne tries to answer 500 where an answer has begun; that fails, its client waits for ever, and the loop that
puts away finished requests has ended with it.
"""

from __future__ import annotations

import logging
from typing import Any

from daphne.server import Server

log = logging.getLogger("agentbridge.net.serving")


class SteadyServer(Server):  # type: ignore[misc] # Daphne tells no types
    """What the application raises before its answer begins is Daphne's to answer."""

    def __init__(self, application: Any, **more: Any) -> None:
        super().__init__(application=application, server_name="", **more)
        self._application = application
        self.application = self._answered

    async def _answered(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await self._application(scope, receive, send)
        except Exception:
            (protocol,) = send.args  # `Server.create_application` binds it
            if not getattr(protocol, "_response_started", False):
                raise
            log.exception("An answer broke off.")
            protocol.loseConnection()  # without its last chunk: the client sees that this was not all

"""How much of a request's body is kept before anybody has looked at the request.

Daphne hands a request on when its body is whole, and Twisted has written all of it to disk by then and read forms out
of it: without a bound, a stranger's one request fills the disk, or memory with fields that nobody asked for.
"""

from __future__ import annotations

from typing import Any

from daphne.http_protocol import WebRequest
from daphne.server import HTTPFactory

KEPT = 64 * 1024 * 1024
PATIENCE = 2  # so many times what is kept is listened to: whoever sends a little too much hears why it is refused


class BoundedRequest(WebRequest):  # type: ignore[misc] # Daphne tells no types
    """A request of which no more than the limit is kept, and one piece: the application sees that it was too much."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, parsePOSTFormSubmission=False, **more)  # Django reads forms
        self.heard = 0

    def handleContentChunk(self, data: bytes) -> None:
        limit = self.channel.factory.body_limit
        self.heard += len(data)
        if self.heard > PATIENCE * limit:
            self.channel.transport.abortConnection()
        elif self.content.tell() <= limit:
            super().handleContentChunk(data)


class BoundedFactory(HTTPFactory):  # type: ignore[misc]
    """Daphne's, with such requests."""

    def __init__(self, server: Any, *, body_limit: int) -> None:
        super().__init__(server)
        self.body_limit = body_limit

    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = BoundedRequest
        return protocol

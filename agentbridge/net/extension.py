"""What our server offers an application beside ASGI, among a scope's `extensions`."""

from __future__ import annotations

from collections.abc import Callable

WRITE = "countersign.write"  # a `Write`, for the body of an answer that has begun
Write = Callable[[bytes], bool]  # to the socket, without a turn of the event loop; False: it has to be sent

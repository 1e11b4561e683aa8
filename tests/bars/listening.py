"""An open page as far as the server can tell: one WebSocket to `/live/`, reading text frames. No library is needed."""

from __future__ import annotations

import base64
import json
import os
import socket
from types import TracebackType
from typing import Any

from tests.waiting import PATIENCE

TEXT, PING = 0x81, 0x89


class Page:
    """Subscribed from the start. `hear` waits for the next news."""

    def __init__(self, port: int, session: str, *, topics: list[str]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            "GET /live/ HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Origin: http://127.0.0.1:{port}",
            "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13",
            f"Cookie: session={session}",
        ]  # fmt: skip
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.exactly(1)
        assert b" 101 " in head.split(b"\r\n")[0], head
        self.say({"topics": topics, "cursor": 0})

    def __enter__(self) -> Page:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.socket.close()

    def say(self, message: Any) -> None:
        """Clients mask what they send; a mask of zeros leaves it readable."""
        text = json.dumps(message).encode()
        assert len(text) < 126
        self.socket.sendall(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)

    def hear(self, seconds: float = PATIENCE) -> Any:
        """The next message. Raises TimeoutError when none comes."""
        self.socket.settimeout(seconds)
        first, size = self.exactly(2)
        text = self.exactly(size)
        if first == PING:  # the next one is the news
            return self.hear(seconds)
        assert first == TEXT and size < 126, (first, size)
        return json.loads(text)

    def exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            assert part, "the server closed the socket"
            data += part
        return data

    def drain(self) -> None:
        """Forget what is on the way already."""
        try:
            while True:
                self.hear(0.05)
        except TimeoutError:
            return

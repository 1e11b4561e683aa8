"""A recorded stream told again: whole frames, under the run id that is asked for now, every other byte as it was.

The answer to a request carries the id of that request (protocol notes X-13): so where the recorded run named its own id
in an event of its life cycle, or in the input that it echoes, the new one stands there instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentbridge.wire import sse
from approvals import jsontext

LIFE = ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR")
PLACES = ("/runId", "/input/runId")


class Retelling:
    """Bytes in as recorded, bytes out as they are told now. Holds one frame at most: the one that is not whole yet."""

    def __init__(self, *, was: str, now: str) -> None:
        self.was, self.now = was, now
        self._frame: list[bytes] = []
        self._line = bytearray()

    def feed(self, data: bytes) -> bytes:
        return b"".join(self._told(data))

    def close(self) -> bytes:
        """What is left when nothing follows: a frame without its blank line (A.3)."""
        rest, self._line = bytes(self._line), bytearray()
        whole, self._frame = b"".join([*self._frame, rest]), []
        return self._renamed(whole)

    def _told(self, data: bytes) -> Iterator[bytes]:
        for line in self._lines(data):
            self._frame.append(line)
            if not line.strip(b"\r\n"):
                whole, self._frame = b"".join(self._frame), []
                yield self._renamed(whole)

    def _lines(self, data: bytes) -> Iterator[bytes]:
        """Whole lines, wherever the network cuts. A CR at the very end waits: an LF may belong to it."""
        for piece in data.splitlines(keepends=True):
            if self._line.endswith(b"\r") and not piece.startswith(b"\n"):
                yield self._take_line()
            self._line += piece
            if self._line.endswith(b"\n"):
                yield self._take_line()

    def _take_line(self) -> bytes:
        line, self._line = bytes(self._line), bytearray()
        return line

    def _renamed(self, raw: bytes) -> bytes:
        if self.was == self.now or b"unId" not in raw or b"RUN_" not in raw:
            return raw
        parser = sse.Parser(limit=len(raw) + 1)
        frames = [*parser.feed(raw), *parser.close()]
        told = self._event(frames[0].data) if len(frames) == 1 and not frames[0].bad_utf8 else None
        return raw if told is None else b"data: " + told.encode("utf-8", "surrogatepass") + b"\n\n"

    def _event(self, text: str) -> str | None:
        """The event under the new id; None where it does not name the old one."""
        try:
            event = jsontext.parse(text)
        except jsontext.JSONTextError:
            return None
        kind = event.root.member("type")
        found = {place: event.at(place) for place in PLACES}
        ours = [place for place, node in found.items() if node and node.kind == "string" and node.text == self.was]
        if kind is None or kind.text not in LIFE or not ours:
            return None
        return jsontext.replace(text, dict.fromkeys(ours, jsontext.dumps(self.now)))

"""Server-sent events as they really arrive: bytes in, frames out; any framing quirk, flat memory, linear time."""

from __future__ import annotations

from typing import NamedTuple

BOM = b"\xef\xbb\xbf"


class Frame(NamedTuple):
    """The `data` of one event, its lines joined with LF."""

    data: str
    terminated: bool = True  # False: the body ended before the blank line
    bad_utf8: bool = False  # undecodable bytes are shown as U+FFFD


class FrameTooLarge(Exception):
    """An unfinished frame passed the limit; `frames` are those completed before it."""

    def __init__(self, frames: list[Frame], limit: int) -> None:
        super().__init__(f"A frame is larger than the limit of {limit} bytes.")
        self.frames = frames


class Parser:
    """Reads one body. LF, CR and CRLF end lines wherever the network cuts; `event`, `id`, `retry` are ignored (A.3)."""

    def __init__(self, *, limit: int = 10 * 1024 * 1024) -> None:
        self.limit = limit
        self.comments = 0
        # Buffers, not lists of pieces: ten million empty lines are ten megabytes here, and eighty as a list.
        self._line = bytearray()  # the beginning of a line whose end has not come
        self._data = bytearray()  # the data lines of the frame being read, each with an LF behind it
        self._after_cr = False  # an LF that comes next belongs to the CR before it
        self._first = True

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete; raises FrameTooLarge at the limit."""
        frames: list[Frame] = []
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        # For bytes splitlines() knows CR, LF and CRLF only, which is exactly the standard's set.
        for piece in data.splitlines(keepends=True):
            if piece.endswith((b"\n", b"\r")):
                self._end_line(piece.rstrip(b"\r\n"), frames)
            else:
                self._line += piece
                self._check_size(frames)
        self._after_cr = data.endswith(b"\r")
        return frames

    def close(self) -> list[Frame]:
        """End of the body: a frame without its blank line is delivered and marked."""
        frames: list[Frame] = []
        if self._line:
            self._end_line(b"", frames)
        if self._data:
            frames.append(self._frame(terminated=False))
        return frames

    def _end_line(self, line: bytes, frames: list[Frame]) -> None:
        if self._line:
            line = bytes(self._line + line)
            self._line.clear()
        if self._first:
            self._first = False
            line = line.removeprefix(BOM)
        if not line:
            if self._data:
                frames.append(self._frame(terminated=True))
        elif line.startswith(b":"):
            self.comments += 1
        else:
            self._field(line, frames)

    def _field(self, line: bytes, frames: list[Frame]) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data += value.removeprefix(b" ")
            self._data += b"\n"
            self._check_size(frames)

    def _check_size(self, frames: list[Frame]) -> None:
        if len(self._line) + len(self._data) > self.limit:
            raise FrameTooLarge(frames, self.limit)

    def _frame(self, *, terminated: bool) -> Frame:
        raw = self._data[:-1]
        self._data.clear()
        try:
            return Frame(raw.decode("utf-8"), terminated)
        except UnicodeDecodeError:
            return Frame(raw.decode("utf-8", "replace"), terminated, bad_utf8=True)

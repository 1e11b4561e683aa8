"""How a bundle is read: strictly, so that no two programs find different things in it. A part of `verify.py`.

Whatever a forged file makes its readers raise becomes one Unreadable, in words that every reader would choose.
"""

from __future__ import annotations

import base64
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")  # nothing that leads out of a folder
MOST = 2**53 - 1  # of numbers


class Unreadable(Exception):
    """A part that cannot be read; the words name it."""


class Bundle:
    """The files of a zip. Raises Unreadable where two programs could find different ones, or unpack them elsewhere."""

    def __init__(self, file: Any) -> None:
        try:
            self.zip = zipfile.ZipFile(file)
            members = self.zip.infolist()
            is_whole = bool(self.zip.comment) or self._is_whole()
        except Exception:
            is_whole = False
        if not is_whole:
            raise Unreadable("it cannot be opened as a zip file")
        self.names = {member.filename: member for member in members}
        if len(self.names) < len(members):
            raise Unreadable("a file is there twice")
        if self.zip.comment or min((member.header_offset for member in members), default=1):
            raise Unreadable("there is more in it than its files")
        for member in members:
            if not NAME.fullmatch(member.orig_filename) or member.external_attr >> 28 not in (0, 8):
                raise Unreadable("something in it is no plain file")

    def _is_whole(self) -> bool:
        """Whether the directory is as long as the last record says: `zipfile` makes do with what it finds."""
        file: Any = self.zip.fp
        edge = file.seek(0, 2) - 22
        file.seek(max(0, edge - 20))
        tail = file.read()
        count = int.from_bytes(tail[-12:-10], "little")
        if len(tail) == 42 and tail.startswith(b"PK\6\7"):  # more than 65,535 files, or than 4 GiB
            edge = int.from_bytes(tail[8:16], "little")
            file.seek(edge + 32)
            count = int.from_bytes(file.read(8), "little")
        at = self.zip.start_dir
        while count and at < edge:
            file.seek(at + 28)
            at += 46 + sum(int.from_bytes(file.read(2), "little") for _ in range(3))
            count -= 1
        return tail[-22:-18] == b"PK\5\6" and tail[-2:] == b"\0\0" and not count and at == edge

    def pieces(self, name: str) -> Iterator[bytes]:
        if name not in self.names:
            raise Unreadable(f"{name} is missing")
        left = self.names[name].file_size
        try:
            with self.zip.open(name) as content:
                for piece in iter(lambda: content.read(1 << 20), b""):
                    left -= len(piece)
                    yield piece
            if left or self.names[name].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError("of another size, or packed in another way")
        except Exception:
            raise Unreadable(f"{name} cannot be read") from None

    def read(self, name: str, how: Callable[[bytes], Any]) -> Any:
        content = b"".join(self.pieces(name))
        try:
            return how(content)
        except Exception:
            raise Unreadable(f"{name} cannot be read") from None

    def lines(self, name: str, how: Callable[[dict[str, Any]], Any]) -> Iterator[Any]:
        here = 0
        try:
            for line in self.zip.open(name):
                here += 1
                yield how(parsed(line))
        except Exception:
            raise Unreadable(f"line {here} of {name} cannot be read") from None


def parsed(text: bytes, **stricter: Any) -> Any:
    """JSON that all readers read alike. Raises ValueError and RecursionError."""
    return json.loads(text.decode(), object_pairs_hook=once, parse_constant=refuse, **stricter)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs if name.isascii()}) < len(pairs):
        raise ValueError("a member is there twice, or has a name that is never used here")
    return dict(pairs)


def refuse(written: str) -> None:
    raise ValueError(f"{written} has no place here")


def whole(number: Any) -> int:
    if isinstance(number, bool) or not 0 <= number <= MOST or number != int(number):
        raise ValueError("not a number that all readers read alike")
    return int(number)


def raw_of(text: str) -> bytes:
    """What is written in base64, in its one spelling. Raises ValueError and TypeError."""
    content = base64.b64decode(text)
    if base64.b64encode(content).decode() != text:
        raise ValueError("not base64")
    return content


def matching(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError("not of this form")
    return text

"""What the connector must not forget over a `kill -9`: one folder per input, each step a file that is there or not.

    <folder>/<key>/input    the RunAgentInput, exactly as fetched; written before anything else is done with it
    <folder>/<key>/ours    a first run that was asked for here: its input is pushed along
    <folder>/<key>/called   from here on bytes may have reached the agent: it is never called again for this input
    <folder>/<key>/stream   what the agent answered, as it came
    <folder>/<key>/whole    the answer has ended, or we know that no more of it will come
    <folder>/<key>/pushed   the desk has it, or asks a person what became of it
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedWriter
from pathlib import Path

ROOM = 64 * 1024  # bytes that have to fit before anything is fetched


class InUse(Exception):
    """Another connector works with this folder."""


@dataclass(frozen=True)
class Job:
    """One input and how far it got."""

    folder: Path

    @property
    def input(self) -> bytes:
        return (self.folder / "input").read_bytes()

    @property
    def name(self) -> str:
        """For people; the ids inside are the agent's and the desk's."""
        return self.folder.name[:12]

    @property
    def stream(self) -> bytes:
        path = self.folder / "stream"
        return path.read_bytes() if path.exists() else b""

    @property
    def kept_at(self) -> float:
        """When the input was kept, in seconds of the epoch. A clock that was set back since puts it into the future."""
        return (self.folder / "input").stat().st_mtime

    def has(self, step: str) -> bool:
        return (self.folder / step).exists()

    def mark(self, step: str) -> None:
        write(self.folder / step, b"")

    def take_back(self, step: str) -> None:
        (self.folder / step).unlink()
        sync(self.folder)

    def answer(self) -> BufferedWriter:
        """Where the agent's answer goes, part by part."""
        return (self.folder / "stream").open("ab")


class Journal:
    """All jobs of one connector. Raises InUse when another one has the folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._lock = (folder / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise InUse(str(folder)) from None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_error: object) -> None:
        self._lock.close()

    def check(self) -> None:
        """Can anything be kept at the moment? Raises OSError."""
        write(self.folder / ".room", bytes(ROOM))

    def add(self, body: bytes, *, ours: bool = False) -> Job:
        """Keep an input; the same one again is the same job."""
        job = Job(self.folder / hashlib.sha256(body).hexdigest())
        job.folder.mkdir(exist_ok=True)
        if ours:
            job.mark("ours")
        if not job.has("input"):
            write(job.folder / "input", body)
        sync(self.folder)
        return job

    def open(self) -> Iterator[Job]:
        """Jobs that the desk does not have yet, the oldest first."""
        folders = [path for path in self.folder.iterdir() if path.is_dir() and (path / "input").exists()]
        for folder in sorted(folders, key=lambda path: (path / "input").stat().st_mtime_ns):
            if not (folder / "pushed").exists():
                yield Job(folder)


def write(path: Path, data: bytes) -> None:
    """All of it on the disk, or nothing."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync(path.parent)


def sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

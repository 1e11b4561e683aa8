"""The guard as its own process, and an agent without any memory of answers: whatever comes is done, each time."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.ports import free_port
from tests.scripted_agent import Answer, Post, ScriptedAgent, finished, interrupt, play, read_post, result, started

ROOT = Path(__file__).parents[3]


class Bank(ScriptedAgent):
    """Pauses on every first run and pays on every resume; `paid` has the thread of each payment."""

    def __init__(self, seed: int = 0, **more: str) -> None:
        super().__init__([])
        self.luck = random.Random(seed)
        self.more = more
        self.paid: list[str] = []

    def answer(self, post: Post) -> Answer:
        thread = post.json["threadId"]
        if post.resume is None:
            return Answer([started(), self.moment(), finished(interrupt(f"int-{thread}", **self.more))])
        return Answer([
            started(), self.moment(), lambda: self.paid.append(thread), self.moment(), result(f"paid {thread}"),
            self.moment(), finished(),
        ])  # fmt: skip

    def moment(self) -> float:
        return self.luck.uniform(0, 0.04)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            post = await read_post(reader)
            if post is not None:
                self.posts.append(post)
                await play(self.answer(post), post, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the guard was killed: the work went on, as far as it goes
        finally:
            writer.close()


@dataclass
class GuardProcess:
    """`python -m agentbridge.guard`, which can be killed at any moment and started again on the same file."""

    agent: str
    state: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/agent"

    def start(self, *more: str) -> None:
        words = [sys.executable, "-m", "agentbridge.guard", "--agent", self.agent, "--state", str(self.state)]
        self.process = subprocess.Popen(
            [*words, "--port", str(self.port), *more], cwd=ROOT, env={"PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        end = time.monotonic() + 60
        while not self.answers():
            assert self.process.poll() is None and time.monotonic() < end, "the guard did not start"
            time.sleep(0.02)

    def wait_for_size(self, size: int) -> None:
        """Until the state file has grown to hold so many bytes."""
        end = time.monotonic() + 60
        files = (self.state, self.state.with_name(self.state.name + "-wal"))
        while sum(file.stat().st_size for file in files if file.exists()) < size:
            assert time.monotonic() < end, "the stream does not reach the record"
            time.sleep(0.05)

    def answers(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/healthz", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60)
            self.process = None

"""A process beside ours that checks what may take long, and can be killed.

No thread can be stopped inside a regular expression or an endless choice of branches, a process can. It is started
when first needed, lives on, and reads one JSON line a check; when a check exceeds its time it is killed and the next
check starts another. It gets no environment and no Django.

What a check may take is processor time, which the kernel counts: so a busy machine refuses no schema that a quiet one
checks, and on a quiet one the whole answer, page and all, is there within a second (R-54).
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from approvals.validation.check import Failure, Limits, UnusableSchema
from approvals.validation.check import failures as check

CHECK_SECONDS = 0.4  # of processor time
WAIT_SECONDS = 2.0  # by the clock, for a check that gets too little of the processor
START_SECONDS = 20.0
SLOW_SECONDS = 30.0
MOST_SLOW = 500
MEMORY_BYTES = 512 * 1024 * 1024
ROOT = Path(__file__).resolve().parent.parent.parent


class Checker:
    """One worker process, used by one thread at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.owner = 0

    def ask(self, question: bytes) -> bytes:
        """The answer line; `UnusableSchema` when it does not come in time."""
        with self.lock:
            process = self.running()
            try:
                return self.exchange(process, question, WAIT_SECONDS)
            except (TimeoutError, BrokenPipeError, EOFError) as error:
                self.stop()
                code = "too_slow" if isinstance(error, TimeoutError | EOFError) else "worker"
                raise UnusableSchema(code) from error

    def running(self) -> subprocess.Popen[bytes]:
        # After a fork the pipes are shared with the parent: the child starts its own worker.
        if self.process is None or self.process.poll() is not None or self.owner != os.getpid():
            self.process = subprocess.Popen(
                [sys.executable, "-m", "approvals.validation.worker"],
                cwd=ROOT,
                env={"PYTHONPATH": str(ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            self.owner = os.getpid()
            try:
                self.exchange(self.process, b"", START_SECONDS)
            except (TimeoutError, BrokenPipeError, EOFError) as error:
                self.stop()
                raise UnusableSchema("worker") from error
        return self.process

    def exchange(self, process: subprocess.Popen[bytes], question: bytes, seconds: float) -> bytes:
        assert process.stdin is not None and process.stdout is not None  # noqa: S101 both are pipes
        if question:
            process.stdin.write(question + b"\n")
            process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                raise TimeoutError
        line = process.stdout.readline()
        if not line:
            raise EOFError
        return line

    def stop(self) -> None:
        if self.process is not None and self.owner == os.getpid():
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                with contextlib.suppress(BrokenPipeError):
                    if pipe is not None:
                        pipe.close()
        self.process = None


_checker = Checker()
atexit.register(_checker.stop)


class Slow:
    """Questions that took too long a moment ago: one page asks the same several times, and is told at once.

    Only for a while, since a busy machine may have been why.
    """

    def __init__(self) -> None:
        self.until: dict[bytes, float] = {}

    def has(self, question: bytes) -> bool:
        return self.until.get(hashlib.sha256(question).digest(), 0) > time.monotonic()

    def add(self, question: bytes) -> None:
        now = time.monotonic()
        self.until = {key: end for key, end in self.until.items() if end > now}
        if len(self.until) < MOST_SLOW:
            self.until[hashlib.sha256(question).digest()] = now + SLOW_SECONDS


_slow = Slow()


def failures(schema_text: str, value_text: str, limits: Limits) -> list[Failure]:
    """As `schema_check.failures`, but killed after `CHECK_SECONDS`."""
    told = [schema_text, value_text, limits.schema_bytes, limits.schema_depth, limits.pattern_seconds]
    question = json.dumps(told).encode()
    if _slow.has(question):
        raise UnusableSchema("too_slow")
    try:
        answer = json.loads(_checker.ask(question))
    except UnusableSchema as unusable:
        if unusable.code == "too_slow":
            _slow.add(question)
        raise
    if "unusable" in answer:
        raise UnusableSchema(*answer["unusable"])
    return [Failure(*one) for one in answer["failures"]]


def answer(line: bytes) -> bytes:
    """One check, in the worker."""
    schema_text, value_text, schema_bytes, schema_depth, seconds = json.loads(line)
    limits = Limits(schema_bytes=schema_bytes, schema_depth=schema_depth, pattern_seconds=seconds)
    try:
        found = check(schema_text, value_text, limits)
    except UnusableSchema as unusable:
        return json.dumps({"unusable": [unusable.code, unusable.detail]}).encode()
    except MemoryError:
        return json.dumps({"unusable": ["too_slow", ""]}).encode()
    return json.dumps({"failures": [[one.pointer, one.keyword, one.wanted] for one in found]}).encode()


def serve() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for our parent; we end when its pipe closes
    out = sys.stdout.buffer
    out.write(b"ready\n")
    out.flush()
    for line in sys.stdin.buffer:
        # Neither signal is handled, so the kernel ends us: when time is up, and should nobody be left to wait for us.
        signal.setitimer(signal.ITIMER_PROF, CHECK_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, 2 * WAIT_SECONDS)
        out.write(answer(line) + b"\n")
        out.flush()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    serve()

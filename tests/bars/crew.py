"""A fake agent in its own process, workers that can be killed, and people: what every play needs."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from django.conf import settings
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from agentbridge import registering
from agentbridge.models import Agent, Resume, Run
from agentbridge.models.agents import key_of
from agentbridge.runs import starting
from approvals import people
from approvals.models import Case, Decision, User
from approvals.models.people import Role
from tests.bars.witness import Witness
from tests.people import decide, person

ROOT = Path(__file__).parents[2]
CONDITIONS = {
    "UNDO_SECONDS": 0, "EXPIRY_MARGIN_SECONDS": 0.2, "LEASE_SECONDS": 20, "BACKOFF_SECONDS": 0.05,
    "CONNECT_SECONDS": 10, "FIRST_EVENT_SECONDS": 8, "IDLE_SECONDS": 8, "RUN_SECONDS": 20,
}  # fmt: skip
MOVING = ("ready", "leased", "armed", "accepted")


def database_url() -> str:
    """The address of the database of this process, for processes beside it."""
    told = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{told['NAME']}"
    login = f"{told['USER']}:{told['PASSWORD']}" if told["PASSWORD"] else told["USER"]
    return f"postgres://{login}@{told['HOST']}:{told['PORT']}/{told['NAME']}"


class Crew:
    """`with Crew(folder, seed=7) as crew`. `acknowledged` collects every decision that was answered with a yes."""

    def __init__(self, folder: Path, *, seed: int, **conditions: float) -> None:
        self.conditions = {**CONDITIONS, **conditions}
        self.witness = Witness(folder / "oracle.jsonl")
        self.log = folder / "workers.log"
        self.seed, self.random = seed, random.Random(seed)
        self.workers: list[int] = []
        self.acknowledged: list[int] = []
        self.kills = 0
        self.parallel = settings.AGENT_PARALLEL
        self._own = override_settings(**self.conditions)
        self._processes: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Crew:
        self._own.enable()
        people.set_queue("payments", now=timezone.now())
        self.alice: User = person("alice", Role.REVIEWER, "payments")
        self.olga: User = person("olga", Role.OPERATOR)
        told = {**os.environ, **{name: str(value) for name, value in self.conditions.items()}}
        told |= {"DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "config.settings"}
        oracle = str(self.witness.file)
        self._agent = self._start(["tests/cases/fake_agent.py", "--oracle", oracle], dict(os.environ))
        self._nursery = self._start(["-m", "tests.bars.nursery"], told)
        assert self._agent.stdout is not None
        self.url = self._agent.stdout.readline().rsplit(" ", 1)[-1].strip().removesuffix("/agent")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for pid in list(self.workers):
            self.kill(pid)
        for process in self._processes:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        self._own.disable()

    def _start(self, words: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[str]:
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *words], cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        self._processes.append(process)
        return process

    def spawn(self, *, once: bool = False, crash_at: str = "", patient: bool = False) -> int:
        """A new worker; `once` ends by itself, `crash_at` kills itself at a named step, `patient` has long waits."""
        assert self._nursery.stdin is not None and self._nursery.stdout is not None
        self._nursery.stdin.write(f"SPAWN\t{'once' if once else ''}\t{crash_at}\t{'patient' if patient else ''}\n")
        self._nursery.stdin.flush()
        pid = int(self._nursery.stdout.readline())
        self.workers.append(pid)
        return pid

    def kill(self, pid: int, how: signal.Signals = signal.SIGKILL) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, how)
        if how == signal.SIGKILL:
            self.workers.remove(pid)
            self.kills += 1

    def gone(self, pid: int) -> bool:
        """It ended, by itself or by a kill."""
        if alive(pid):
            return False
        if pid in self.workers:
            self.workers.remove(pid)
        return True

    def lapse(self) -> None:
        """The time of every lease is over, without waiting for it: busy machines need long leases."""
        past = timezone.now() - timedelta(seconds=1)
        Resume.objects.filter(lease_until__isnull=False).update(lease_until=past)
        Run.objects.filter(lease_until__isnull=False).update(lease_until=past)

    def agent(self, fault: str, *, at_start: bool = False, **wanted: Any) -> Agent:
        """An agent that plays this fault; known by a slug of the same name."""
        url = f"{self.url}/fault/{fault}{'/start' if at_start else ''}"
        return self.register(fault.replace("_", "-"), url, **wanted)

    def register(self, slug: str, url: str, **wanted: Any) -> Agent:
        given = {"slug": slug, "url": url, "queue": "payments", **wanted}
        return registering.register(registering.Wanted(**given), now=timezone.now())[0]

    def ask(self, agent: Agent, thread_id: str) -> Run:
        return starting.start(agent, by=self.alice, message="please", thread_id=thread_id, now=timezone.now())

    def decide(self, case: Case, verdict: str = "approved", *, leave: int = 0) -> list[Decision]:
        """Answer every question of a case, or all but the last few."""
        tasks = list(case.tasks.order_by("position"))
        made = [decide(task, self.alice, verdict) for task in tasks[: len(tasks) - leave]]
        self.acknowledged += [decision.pk for decision in made]
        return made

    def cases(self, agent: Agent, threads: Sequence[str]) -> list[Case]:
        """Ask on each thread and have the questions brought, in the order of the threads. No worker is at work yet."""
        for thread in threads:
            self.ask(agent, thread)
        self.have_asked()
        by_thread = {case.thread_key: case for case in Case.objects.filter(agent=agent.slug)}
        return [by_thread[key_of(thread)] for thread in threads]

    def have_asked(self) -> None:
        """Every first run is made and pauses.

        By a worker of their own that waits longer than those of the play: a first run is never made twice, so what
        short waits cost on a busy machine would be a question that never comes.
        """
        asking = Run.objects.filter(kind=Run.Kind.FIRST, status=Run.Status.QUEUED)
        wanted = list(asking.values_list("pk", flat=True))
        while asking.filter(pk__in=wanted).exists():  # a worker that stops after one look may leave some unsent
            pid = self.spawn(once=True, patient=True)
            self.until(lambda pid=pid: self.gone(pid), "all have asked", 240 + len(wanted))
        lost = Run.objects.filter(pk__in=wanted).exclude(status=Run.Status.INTERRUPTED)
        assert not lost.exists(), list(lost.values_list("thread__agent__slug", "status", "error"))

    def settled(self) -> None:
        """Until nothing is under way any more: every delivery has a named end or waits for a person."""
        seconds = 120 + 2 * Case.objects.count()
        self.until(lambda: not under_way(), "every delivery ends or waits for a person", seconds)

    def until(self, holds: Callable[[], Any], what: str, seconds: float = 240) -> None:
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {what}\n{self.log.read_text()[-3000:]}")
            time.sleep(0.05)


def under_way() -> bool:
    undelivered = Case.objects.unexpired(timezone.now()).filter(state="settled", taken_at=None, blocked="")
    moving = Resume.objects.filter(state__in=MOVING, replaced_at=None)
    return undelivered.exists() or moving.exists() or Run.objects.in_flight().exists()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True

"""The relay and the connector, killed at random: what a caller saw is on record, and no answer is given twice."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx
from django.utils import timezone

from agentbridge import registering
from agentbridge.models import Agent, Resume, Run
from agentbridge.models.agents import key_of
from agentbridge.ways import push as pushing
from approvals.models import Case
from tests.agentbridge.ways.desk import asked
from tests.bars.crew import ROOT, Crew
from tests.bars.plays import holds
from tests.bars.web import Site
from tests.scripted_agent import call, finished, interrupt, started

CALLERS = 4
YES = {"interruptId": "int-1", "status": "resolved", "payload": {"approved": True}}


@dataclass
class Caller:
    """A front end that asks once and, when it sees the pause, may answer it; broken connections are not mended."""

    url: str
    headers: dict[str, str]
    thread: str
    answers: bool
    seen: dict[str, bytes] = field(default_factory=dict)

    def go(self) -> None:
        self.post("first")
        if self.answers and b"RUN_FINISHED" in self.seen["first"]:
            self.post("second", resume=[YES])

    def post(self, name: str, **more: Any) -> None:
        self.seen[name] = b""
        sent = {"json": asked(f"{self.thread}-{name}", self.thread, **more), "headers": self.headers}
        broken = contextlib.suppress(httpx.TransportError)
        with broken, httpx.stream("POST", self.url, timeout=60, trust_env=False, **sent) as got:
            for part in got.iter_raw() if got.status_code == 200 else ():
                self.seen[name] += part


def relay_killed(crew: Crew, *, rounds: int) -> None:
    """The web process dies while callers ask and answer; a worker delivers what they decided."""
    agent, tokens = hosted(crew, "relayed", caller_decides=True)
    site, callers = Site(crew), []
    url, headers = f"http://127.0.0.1:{site.port}/agui/{agent.slug}", {"Authorization": f"Bearer {tokens.caller}"}
    crew.spawn()
    try:
        for n in range(rounds):
            site.wait()
            now = [Caller(url, headers, f"thread-{n}-{k}", answers=k % 2 == 0) for k in range(CALLERS)]
            threads = [threading.Thread(target=each.go) for each in now]
            for thread in threads:
                thread.start()
            time.sleep(crew.random.uniform(0, 1.2))
            site.again()
            for thread in threads:
                thread.join()
            callers += now
    finally:
        site.kill()
    ended(crew)
    sent = Counter(receipt.run_id for receipt in crew.witness.receipts())
    assert max(sent.values()) == 1, "a request reached the agent twice"
    for each in callers:
        for name, seen in each.seen.items():
            assert not seen or recorded(f"{each.thread}-{name}").startswith(seen) or b"RUN_FINISHED" not in seen
        if b"RUN_FINISHED" in each.seen["first"]:
            assert Case.objects.filter(thread_key=key_of(each.thread)).exists(), f"{each.thread}: a pause, and no case"


def recorded(run_id: str) -> bytes:
    return pushing.stored(Run.objects.get(key=key_of(run_id)))


def ended(crew: Crew) -> None:
    """What is still open is decided, what is left behind is swept: every end has a name, and the invariants hold."""
    crew.until(lambda: not Run.objects.in_flight().exists(), "every run ends")
    for case in Case.objects.filter(state="open"):
        crew.decide(case)
    crew.settled()
    holds(crew)


def connector_killed(crew: Crew, *, rounds: int) -> None:
    """The connector dies at random, the desk now and then; a slow agent keeps it long enough to be met at work."""
    agent, tokens = hosted(crew, "hosted")
    site = Site(crew)
    words = [sys.executable, "-m", "agentbridge.connector", "--state", str(crew.log.parent / "connector")]
    words += ["--desk", f"http://127.0.0.1:{site.port}/agui/{agent.slug}", "--agent", agent.url]
    given = {"PATH": os.environ["PATH"], "COUNTERSIGN_TOKEN": tokens.host}
    crew.spawn()

    def start(*more: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*words, *more], cwd=ROOT, env=given, stderr=subprocess.DEVNULL)

    try:
        for n in range(rounds):
            site.wait()
            pushing.push(agent, paused(f"thread-{n}"), now=timezone.now())
            process = start()
            crew.decide(Case.objects.get(thread_key=key_of(f"thread-{n}")))
            time.sleep(crew.random.uniform(0.1, 1.5))
            process.send_signal(signal.SIGKILL)
            process.wait()
            if n % 5 == 4:
                site.again()
        site.wait()

        def fetched() -> bool:
            assert start("--once").wait(timeout=240) == 0
            return not owed()

        crew.until(fetched, "every answer is fetched", 480)
        crew.lapse()  # the minute of those whose run nobody will push
        ended(crew)
    finally:
        site.kill()
    assert max(Counter(receipt.body for receipt in crew.witness.receipts()).values()) == 1, "an answer was given twice"


def owed() -> bool:
    """An answer that is decided and not handed out; one that a killed desk had in its hand comes back by and by."""
    sealed = Resume.objects.filter(state__in=("ready", "leased"), replaced_at=None)
    return Case.objects.filter(state="settled", taken_at=None).exists() or sealed.exists()


def hosted(crew: Crew, slug: str, **wanted: Any) -> tuple[Agent, Any]:
    """An agent that pauses and then does as it is told, with its tokens."""
    given = registering.Wanted(slug=slug, url=f"{crew.url}/fault/ok", queue="payments", **wanted)
    return registering.register(given, new_token=True, now=timezone.now())


def paused(thread: str) -> pushing.Pushed:
    stream = (started() + call() + finished(interrupt())).replace(b"__THREAD__", thread.encode())
    told = stream.replace(b"__RUN__", f"run-{thread}".encode())
    sent = json.dumps(asked(f"run-{thread}", thread)).encode()
    return pushing.Pushed(thread_id=thread, run_id=f"run-{thread}", input=sent, stream=told)

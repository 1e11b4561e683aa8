"""R-02: the web process is killed while eight clients decide and retry; nothing is lost and nothing is twice."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import httpx
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from approvals import tokens
from approvals.models import AuditEntry, Decision, Queue, Task, User
from tests.bars import races
from tests.bars.crew import ROOT, Crew, database_url
from tests.desk import free_port

CLIENTS = 8


class Site:
    """The web server on the database of this process, killed and started again."""

    def __init__(self, crew: Crew) -> None:
        self.port = free_port()
        self.environment = {
            **os.environ, "DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "config.settings",
            "PUBLIC_URL": f"http://127.0.0.1:{self.port}", "UNDO_SECONDS": "3600",
        }  # fmt: skip
        self.log = crew.log
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            words = [sys.executable, "manage.py", "serve", "--port", str(self.port)]
            return subprocess.Popen(words, cwd=ROOT, env=self.environment, stdout=log, stderr=log)

    def wait(self, seconds: float = 240) -> None:
        """Until it can take decisions."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if httpx.get(f"http://127.0.0.1:{self.port}/readyz", trust_env=False).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
        raise AssertionError("the web server does not start")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def again(self) -> None:
        self.kill()
        self.process = self.start()


def killed(crew: Crew, *, decisions: int, kills: int = 3) -> None:
    """Each retry with the same token shows the first result, also when that result never reached its client."""
    tasks = [races.fresh(Queue.objects.get(name="payments"), n) for n in range(decisions)]
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    answers: list[tuple[int, str]] = []
    site, token = Site(crew), tokens.issue(crew.alice, now=timezone.now())
    try:
        for _ in range(CLIENTS):  # daemons: they would insist for ever once the play has failed
            threading.Thread(target=client, args=(site, token, waiting, answers), daemon=True).start()
        for n, task in enumerate(tasks):
            waiting.put(task)
            if n % (decisions // (kills + 1)) == decisions // (2 * kills + 2):
                crew.until(lambda n=n: len(answers) >= n // 2, "the clients decide", 480)
                site.again()
        crew.until(lambda: len(answers) == decisions, "every decision is acknowledged", 480 + decisions)
    finally:
        for _ in range(CLIENTS):
            waiting.put(None)  # type: ignore[arg-type]
        site.kill()
    told = Counter(AuditEntry.objects.filter(verb="task.decided").values_list("task", flat=True))
    assert set(told.values()) == {1} and len(told) == Decision.objects.count() == decisions


def client(site: Site, token: str, waiting: queue.SimpleQueue[Task], answers: list[tuple[int, str]]) -> None:
    """Decides one after the other; tries again with the same token until it is answered, then once more."""
    with httpx.Client(trust_env=False, timeout=60) as http:
        while (task := waiting.get()) is not None:
            first = insist(http, site, token, task)
            assert insist(http, site, token, task) == first
            answers.append((task.pk, first))


def insist(http: httpx.Client, site: Site, token: str, task: Task) -> str:
    """The time of the decision, as it was answered."""
    url = f"http://127.0.0.1:{site.port}/api/v1/tasks/{task.code}/decision"
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": f"form-{task.code}"}
    body = {"verdict": "approved", "shownDigest": task.shown_digest}
    while True:
        try:
            answer = http.post(url, json=body, headers=headers)
        except httpx.TransportError:
            time.sleep(0.2)
            continue
        if answer.status_code != 503:
            assert answer.status_code == 200, answer.text
            return str(answer.json()["decision"]["at"])


def session_of(person: User) -> str:
    """A session of this person, as signing in makes one."""
    store = SessionStore()
    store[SESSION_KEY] = str(person.pk)
    store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    store[HASH_SESSION_KEY] = person.get_session_auth_hash()
    store.create()
    return str(store.session_key)

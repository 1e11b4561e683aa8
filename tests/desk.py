"""The product from outside: a database of its own, people, and the real `serve` and `bridge` processes.

Used by the stories that need processes (browser, real agents, kills). It talks only through the outside contract:
management commands, environment, JSON API, pages.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx

from tests.ports import free_port
from tests.waiting import PATIENCE

ROOT = Path(__file__).parent.parent
PEOPLE = {
    "alice": ("reviewer", ("payments",)), "bob": ("reviewer", ("payments",)), "carol": ("auditor", ()),
    "olga": ("operator", ()), "adam": ("admin", ()),
}  # fmt: skip
Json = dict[str, Any]


@dataclass
class Desk:
    """One running desk. `settings` are environment variables on top of the defaults below."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    port: int = 0
    passwords: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    http: httpx.Client = field(default_factory=lambda: httpx.Client(trust_env=False, timeout=PATIENCE))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def prepare(self, database_url: str) -> None:
        self.port = free_port()
        defaults = {
            "DATABASE_URL": database_url, "PUBLIC_URL": self.url, "ALLOWED_HOSTS": "127.0.0.1,localhost",
            "EGRESS_ALLOW": "127.0.0.0/8", "UNDO_SECONDS": "0", "EXPIRY_MARGIN_SECONDS": "1", "DEBUG": "0",
            "DJANGO_SETTINGS_MODULE": "config.settings",  # pytest has put those of the tests into the environment
            **{name: new_key() for name in ("SECRET_KEY", "FIELD_KEY", "SIGNING_KEY")},
        }  # fmt: skip
        self.settings = {**defaults, **self.settings}
        self.manage("migrate", "--noinput")
        self.manage("add_queue", "payments")

    def add_people(self) -> None:
        for name, (role, queues) in PEOPLE.items():
            self.passwords[name] = secrets.token_urlsafe(12)
            wanted = [word for queue in queues for word in ("--queue", queue)]
            words = ("--role", role, *wanted, "--password-stdin")
            self.manage("add_user", name, *words, given=self.passwords[name] + "\n")
            self.tokens[name] = json.loads(self.manage("add_token", name))["token"]

    def manage(self, *words: str, given: str = "", check: bool = True, seconds: float = 240) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *words], cwd=ROOT, env={**os.environ, **self.settings}, input=given,
            capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip
        if check and done.returncode:
            raise AssertionError(f"manage.py {words} exited {done.returncode}: {done.stderr or done.stdout}")
        return done.stdout

    def start(self, *names: str) -> None:
        for name in names or ("serve", "bridge"):
            words = ("--port", str(self.port)) if name == "serve" else ()
            with (self.folder / f"{name}.log").open("ab") as log:
                self.processes[name] = subprocess.Popen(
                    [sys.executable, "manage.py", name, *words], cwd=ROOT, env={**os.environ, **self.settings},
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
        if "serve" in self.processes:
            self.wait_until(self.is_ready, "/readyz answers 200")

    def is_ready(self) -> bool:
        for name, process in self.processes.items():
            assert process.poll() is None, f"{name} ended: {(self.folder / f'{name}.log').read_text()[-2000:]}"
        with contextlib.suppress(httpx.TransportError):
            return self.http.get(self.url + "/readyz").status_code == 200
        return False

    def end(self, name: str, how: signal.Signals = signal.SIGTERM) -> None:
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        process.wait(PATIENCE)

    def stop(self) -> None:
        for name in list(self.processes):
            self.end(name)
        self.http.close()

    def call(self, method: str, path: str, person: str, body: Any = None) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.tokens[person]}"}
        return self.http.request(method, f"{self.url}/api/v1/{path}", headers=headers, json=body)

    def get(self, path: str, person: str = "alice") -> Any:
        answer = self.call("GET", path, person)
        assert answer.status_code == 200, f"GET {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def post(self, path: str, person: str, body: Any) -> Any:
        answer = self.call("POST", path, person, body)
        assert answer.status_code in (200, 202), f"POST {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def open_tasks(self, thread: str, person: str = "alice") -> list[Json]:
        return self.get(f"tasks?state=open&thread={thread}", person)["tasks"]

    def decide(self, task: Json, verdict: str, person: str = "alice", **more: Any) -> Json:
        body = {"verdict": verdict, "shownDigest": task["shownDigest"], **more}
        return self.post(f"tasks/{task['code']}/decision", person, body)

    def wait_until(self, holds: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := holds():
                return found
            time.sleep(0.05)
        raise AssertionError(f"not within {seconds} s: {what}\n{self.logs()}")

    def case_ends(self, code: str, seconds: float = PATIENCE) -> Json:
        """The case once its delivery has ended, whatever the end."""
        moving = {None, "held", "ready", "leased", "armed", "accepted"}
        case: Json = {}

        def ended() -> bool:
            case.update(self.get(f"cases/{code}"))
            return (case["delivery"] or {}).get("state") not in moving
        self.wait_until(ended, f"delivery of {code} ends", seconds)
        return case

    def logs(self) -> str:
        return "\n".join(f"--- {file.name}\n{file.read_text()[-3000:]}" for file in sorted(self.folder.glob("*.log")))


def new_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


@contextlib.contextmanager
def own_database(folder: Path) -> Iterator[str]:
    """A database nobody else uses, of the kind that `DATABASE_URL` names: a file, or one more in the same cluster."""
    given = os.environ.get("DATABASE_URL", "")
    if not given.startswith("postgres"):
        yield f"sqlite:///{folder / 'desk.sqlite3'}"
        return
    import psycopg

    name, parts = f"desk_{secrets.token_hex(6)}", urlsplit(given)
    with psycopg.connect(given, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield urlunsplit(parts._replace(path=f"/{name}"))
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextlib.contextmanager
def running(folder: Path, *processes: str, **settings: str) -> Iterator[Desk]:
    """A desk with its people, started; stopped at the end whatever happens."""
    with own_database(folder) as database_url:
        desk = Desk(folder, dict(settings))
        try:
            desk.prepare(database_url)
            desk.add_people()
            desk.start(*processes)
            yield desk
        finally:
            desk.stop()

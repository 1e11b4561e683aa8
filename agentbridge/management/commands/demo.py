"""`manage.py demo`: two demo agents, five people, the web server and the worker, until Ctrl-C."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from dataclasses import dataclass, field
from io import StringIO
from typing import IO, Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q
from django.utils import timezone

from agentbridge.models import Agent, Run
from agentbridge.runs import starting
from approvals import people
from approvals.models import Case
from approvals.models.people import Role
from demo.environment import DEFAULT_PORT
from demo.stories import STORIES, tell

PEOPLE = (
    ("alice", Role.REVIEWER, ("Payments", "Customer mail", "Infrastructure")),
    ("bob", Role.REVIEWER, ("Payments", "Customer mail", "Infrastructure")),
    ("carol", Role.AUDITOR, ()),
    ("olga", Role.OPERATOR, ()),
    ("adam", Role.ADMIN, ()),
)
QUEUES = (("Payments", "medium"), ("Customer mail", "low"), ("Infrastructure", "high"))
ROUTES = (
    ("send_email", "Customer mail"),
    ("create_credit_note", "Payments"),
    ("stop_service", "Infrastructure"),
    ("delete_data", "Infrastructure"),
)
AGENTS = (
    ("ledgerline", "Ledgerline", "keeping", "DEMO_KEEPING_PORT"),
    ("parcelhand", "Parcelhand", "replaying", "DEMO_REPLAYING_PORT"),
)
VERIFIES = "keeping"  # this one runs nothing that the desk did not sign
OPEN_AT_ONCE = 8  # cases that wait for people; a decided one is followed by the next story


@dataclass
class Children:
    """The processes of the demo; when one ends, all end."""

    log: IO[bytes]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *words: str) -> None:
        # A session of its own: Ctrl-C reaches this command first, which then stops the others in order.
        self.processes[name] = subprocess.Popen(  # noqa: S603 - our own interpreter and our own modules
            [sys.executable, *words], cwd=settings.BASE_DIR, stdout=self.log, stderr=self.log, start_new_session=True
        )

    def check(self) -> None:
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise CommandError(f"{name} ended by itself with status {process.returncode}: see {self.log.name}")

    def stop(self) -> None:
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def password_of(name: str) -> str:
    """The same at every start without being stored: derived from this installation's SECRET_KEY."""
    digest = hmac.new(settings.SECRET_KEY.encode(), f"demo password of {name}".encode(), hashlib.sha256).digest()
    return base64.b32encode(digest)[:12].decode().lower()


class Command(BaseCommand):
    help = "Runs everything on this machine with two demo agents; Ctrl-C stops it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=DEFAULT_PORT)

    def handle(self, *args: Any, port: int, **options: Any) -> None:
        check_ports(port)
        log = settings.BASE_DIR / "var" / "demo.log"
        log.parent.mkdir(exist_ok=True)
        children = Children(log.open("ab"))
        for deadly in (signal.SIGTERM, signal.SIGHUP):  # ended by another program, or with its terminal: as by Ctrl-C
            signal.signal(deadly, signal.default_int_handler)
        try:
            self.prepare()
            self.launch(children, port)
            self.greet(port)
            self.keep_going(children)
        except KeyboardInterrupt:
            self.stdout.write("\nstopping …")
        finally:
            children.stop()
            children.log.close()

    def prepare(self) -> None:
        self.stdout.write("1/3 database …")
        call_command("migrate", verbosity=0)
        for name, risk in QUEUES:
            people.set_queue(name, risk=risk, now=timezone.now())
        self.stdout.write("2/3 people and agents …")
        self.add_people()
        for slug, name, memory, port in AGENTS:
            words = ["--receipts", "Ed25519" if memory == VERIFIES else "off"]
            words += [word for tool, queue in ROUTES for word in ("--route", f"{tool}={queue}")]
            address = f"http://127.0.0.1:{os.environ[port]}/"
            call_command("add_agent", slug, address, "--name", name, "--queue", "Payments", *words, stdout=StringIO())

    def add_people(self) -> None:
        for name, role, queues in PEOPLE:
            people.set_user(name, role=role, queues=queues, password=password_of(name), now=timezone.now())

    def launch(self, children: Children, port: int) -> None:
        self.stdout.write("3/3 agents, web server, worker …")
        for slug, name, memory, variable in AGENTS:
            words = ["--port", os.environ[variable], "--state", str(settings.BASE_DIR / "var" / f"demo-{memory}.json")]
            words += ["--desk", settings.PUBLIC_URL, "--name", slug] if memory == VERIFIES else []
            children.start(name, "-m", "demo.server", memory, *words)
        children.start("web server", "manage.py", "serve", "--port", str(port))
        children.start("worker", "manage.py", "bridge")
        for address in (f"http://127.0.0.1:{port}/readyz", *(agent_ledger(variable) for *_, variable in AGENTS)):
            self.wait_for(children, address)

    def wait_for(self, children: Children, address: str) -> None:
        for _ in range(600):
            children.check()
            try:
                with urllib.request.urlopen(address, timeout=2):  # noqa: S310 - one of our own loopback ports
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.2)
        raise CommandError(f"{address} did not answer within two minutes")

    def greet(self, port: int) -> None:
        self.stdout.write(f"\nCountersign is ready: http://127.0.0.1:{port}/\n\n")
        for name, role, _ in PEOPLE:
            self.stdout.write(f"  {role.value:<9} {name:<6} password {password_of(name)}")
        self.stdout.write("\nNew questions arrive as you answer; what the processes log goes to var/demo.log.\n")
        self.stdout.write("Ctrl-C stops everything.\n")

    def keep_going(self, children: Children) -> None:
        pick = random.Random()  # noqa: S311 - a story, not a secret
        number = Run.objects.count()
        while True:
            children.check()
            if waiting() < OPEN_AT_ONCE:
                start_story(pick, number)
                number += 1
            time.sleep(0.3 if number < OPEN_AT_ONCE else 2)


def check_ports(port: int) -> None:
    """Before anything is touched: a demo that runs in this folder has its database, too. Raises CommandError."""
    for _, name, _, variable in AGENTS:
        if trouble := in_the_way(int(os.environ[variable])):
            raise CommandError(f"{name} cannot start: {trouble}. Is a demo running in this folder already?")
    if trouble := in_the_way(port):
        raise CommandError(f"{trouble}. Another port for the pages: make demo PORT={DEFAULT_PORT + 10}")


def in_the_way(port: int) -> str:
    """Why nothing can listen there; empty when something can."""
    with socket.socket() as place:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that was just left is free
        try:
            place.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as reason:
            return f"Port {port} cannot be used ({getattr(reason, 'strerror', None) or reason})"
    return ""


def agent_ledger(variable: str) -> str:
    return f"http://127.0.0.1:{os.environ[variable]}/_ledger"


def waiting() -> int:
    """Questions that people can still answer, and runs on their way to one."""
    cases = Case.objects.filter(state="open").unexpired(timezone.now()).count()
    return cases + Run.objects.in_flight().filter(Q(kind=Run.Kind.FIRST)).count()


def start_story(pick: random.Random, number: int) -> None:
    name, seed = list(STORIES)[number % len(STORIES)], pick.randrange(10**6)
    agent = Agent.objects.get(slug=AGENTS[number // len(STORIES) % len(AGENTS)][0])
    asked = {"id": f"wish-{number}", "role": "user", "content": tell(name, seed).wish}
    given = json.dumps({"messages": [asked], "forwardedProps": {"story": name, "seed": seed}})
    starting.start(agent, run_input_text=given, by=None, now=timezone.now())

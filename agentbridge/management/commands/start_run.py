"""`manage.py start_run SLUG …`: asks for a run; the bridge makes it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from agentbridge import links
from agentbridge.models import Agent, Run
from agentbridge.runs import starting
from agentbridge.wire.protocol import ProtocolError
from approvals.jsontext import printable
from approvals.refusals import Refused

POLL_SECONDS = 0.2
BRIDGE_SECONDS = 5.0  # a queued run that nobody takes for so long: no bridge is running


class Command(BaseCommand):
    help = "Asks an agent for a run and prints where it can be found. Refused on a paused or busy thread."
    requires_system_checks = ()  # they load every page and the API; the servers run them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--thread", help="the thread's id; a new one by default")
        given = parser.add_mutually_exclusive_group()
        given.add_argument("--message", help="a user message")
        given.add_argument("--input", help="a file with a RunAgentInput, - for standard input")
        parser.add_argument("--wait", action="store_true", help="until the run has ended")

    def handle(self, *args: Any, **options: Any) -> None:
        agent = Agent.objects.select_related("queue").filter(slug=options["slug"]).first()
        if agent is None:
            raise CommandError(f"There is no agent {options['slug']}.")
        text = None if options["input"] is None else read(options["input"])
        try:
            run = starting.start(
                agent, thread_id=options["thread"], run_input_text=text, message=options["message"], by=None,
                now=timezone.now(),
            )  # fmt: skip
        except (Refused, ProtocolError) as reason:
            raise CommandError(str(reason)) from reason
        told = {"threadId": run.thread.thread_id, "runId": run.run_id, "run": links.absolute(links.run_page(run))}
        self.stdout.write(json.dumps(told))
        if options["wait"]:
            self.wait(run)

    def wait(self, run: Run) -> None:
        began, warned = time.monotonic(), False
        while run.status in (Run.Status.QUEUED, Run.Status.RUNNING):
            time.sleep(POLL_SECONDS)
            run.refresh_from_db(fields=["status", "lease_owner", "error"])
            untaken = run.status == Run.Status.QUEUED and not run.lease_owner
            if untaken and not warned and time.monotonic() - began > BRIDGE_SECONDS:
                self.stderr.write("Nobody has taken the run yet: is `manage.py bridge` running?")
                warned = True
        self.stderr.write(f"The run ended: {run.status}." + (f" {printable(run.error)}" if run.error else ""))


def read(path: str) -> str:
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        raise CommandError(f"{path} cannot be read: {reason}") from reason

"""`manage.py probe_agent SLUG …`: is it safe to send the same answers to this agent again?"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from agentbridge.delivery.tickets import headers_of
from agentbridge.models import Agent
from agentbridge.net import egress
from agentbridge.probing import checks, verdicts
from agentbridge.probing.talking import Ledger
from agentbridge.wire.protocol import ProtocolError, read_input
from agentbridge.wire.record import RunInput


class Command(BaseCommand):
    help = (
        "Sends answers twice, late, in part and for other questions to an agent, on a tool that harms nobody, and "
        "records whether it ever ran what it must not. Exits 0 when all eight checks passed, 1 when not."
    )
    requires_system_checks = ()  # they load every page and the API; the servers run them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--input", required=True, metavar="FILE", help="a RunAgentInput that pauses for a yes")
        parser.add_argument("--chain-input", required=True, metavar="FILE", help="one that pauses again after the yes")
        parser.add_argument("--ledger", required=True, metavar="URL", help="a JSON list of what the tool really did")
        parser.add_argument("--parallel-input", metavar="FILE", help="one that asks several questions at once (P6)")
        parser.add_argument("--expiring-input", metavar="FILE", help="one whose question expires soon (P4)")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        agent = Agent.objects.select_related("queue").filter(slug=options["slug"]).first()
        if agent is None:
            raise CommandError(f"There is no agent {options['slug']}.")
        bench = bench_of(agent, options)
        found = verdicts.report(asyncio.run(checks.run_all(bench)), bench.heard)
        verdicts.record(agent, found, now=timezone.now())
        self.stdout.write(json.dumps(found.to_json(), ensure_ascii=False) if options["as_json"] else table(found))
        if found.passed < len(found.checks):
            raise SystemExit(1)


def bench_of(agent: Agent, options: dict[str, Any]) -> checks.Bench:
    usual = given(options["input"])
    try:
        same_house = egress.origin(options["ledger"]) == egress.origin(agent.url)
    except egress.NotAllowed as reason:
        raise CommandError(f"--ledger: {reason}") from reason
    # Credentials belong to the place they were given for.
    ledger = Ledger(options["ledger"], headers_of(agent) if same_house else ())
    return checks.Bench(
        agent=agent, ledger=ledger, input=usual, chain=given(options["chain_input"]), clock=timezone.now,
        parallel=given(options["parallel_input"]) if options["parallel_input"] else usual,
        expiring=given(options["expiring_input"]) if options["expiring_input"] else usual,
    )  # fmt: skip


def given(path: str) -> RunInput:
    """Ids are made anew for each check, so the file needs none."""
    try:
        return read_input(Path(path).read_text("utf-8"), partial=True)
    except (OSError, UnicodeDecodeError, ProtocolError) as reason:
        raise CommandError(f"{path} cannot be used as an input: {reason}") from reason


def table(found: verdicts.Report) -> str:
    rows = [f"{check.name}  {check.result:8}  {check.title}\n              {check.evidence}" for check in found.checks]
    return "\n".join([*rows, f"{found.passed} of {len(found.checks)} passed. Replay class: {found.replay}."])

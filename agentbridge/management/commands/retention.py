from __future__ import annotations

from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import connection
from django.utils import timezone

from agentbridge.record import erasing
from approvals.erasing import retention
from approvals.refusals import WrongState


class Command(BaseCommand):
    help = (
        "Erases the content that the rules of retention say is due; holds keep theirs. Call it each night. "
        "With --dry-run it only tells."
    )
    requires_system_checks = ()  # they load every page and the API; the servers run them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only tell what is due")
        parser.add_argument("--limit", type=int, default=1000, help="conversations in one go (default 1000)")
        parser.add_argument(
            "--scrub", action="store_true",
            help="write the database's files anew afterwards, so that nothing is left in free space (locks tables)",
        )  # fmt: skip

    def handle(self, *, dry_run: bool, limit: int, scrub: bool, **options: Any) -> None:
        if not retention.in_force().exists():
            self.stdout.write("No rule counts: everything is kept.")
        now = timezone.now()
        erased = 0
        for due in list(islice(retention.due(now), limit)):
            erased += self.settle(due, dry_run=dry_run)
        if dry_run:
            return
        self.stdout.write(f"{erased} erased.")
        if (erased or scrub) and not connection.in_atomic_block:
            erasing.scrub(thorough=scrub)

    def settle(self, due: retention.Due, *, dry_run: bool) -> int:
        """Tell of one conversation, and erase it; how many cases went."""
        codes = ", ".join(case.code for case in due.cases)
        line = f"{codes}: over since {due.since:%Y-%m-%d}, {retention.scope(due.rule)}, {due.rule.days} days"
        if due.hold is not None:
            self.stdout.write(f"{line}; held: {due.hold.reason}")
            return 0
        self.stdout.write(line)
        if dry_run:
            return 0
        try:
            erasing.carry_out_rule(due, now=timezone.now())
        except WrongState as refused:
            self.stdout.write(f"{codes}: not now. {refused}")
            return 0
        return len(due.cases)

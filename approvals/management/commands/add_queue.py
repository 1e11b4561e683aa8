from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from approvals import people
from approvals.models import Queue


class Command(BaseCommand):
    help = "Makes a queue; again with the same name: changes its risk."
    requires_system_checks = ()  # they load every page and the API; the servers run them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--risk", choices=Queue.Risk.values)

    def handle(self, *, name: str, risk: str | None, **options: Any) -> None:
        queue = people.set_queue(name, risk=risk, now=timezone.now())
        self.stdout.write(f"queue {queue.name}: {queue.risk} risk")

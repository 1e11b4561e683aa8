from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from approvals import people
from approvals.models import Queue
from approvals.verbs import reasons


class Command(BaseCommand):
    help = "Makes a queue; again with the same name: changes how it decides."
    requires_system_checks = ()  # they load every page and the API; the servers run them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--risk", choices=Queue.Risk.values)
        parser.add_argument("--reason-required", choices=["yes", "no"], help="every decision needs a comment")
        parser.add_argument("--reason-length", type=int, metavar="N", help="of at least N characters")
        parser.add_argument("--whole-text-first", choices=["yes", "no"], help="a yes needs every long text opened")
        parser.add_argument("--reason", action="append", metavar="CODE=WORDS", help="what can be picked; replaces all")

    def handle(self, *, name: str, risk: str | None, **options: Any) -> None:
        if not name.strip():
            raise CommandError("A queue needs a name.")
        length, codes = options["reason_length"], options["reason"]
        if length is not None and not 1 <= length <= 1000:
            raise CommandError("--reason-length is 1 to 1000")
        try:
            read = None if codes is None else reasons.read_codes(codes)
        except ValueError as problem:
            raise CommandError(f"--reason {problem}") from None
        queue = people.set_queue(
            name, risk=risk, reason_required=switch(options["reason_required"]), reason_length=length,
            reason_codes=read, whole_text_first=switch(options["whole_text_first"]), now=timezone.now(),
        )  # fmt: skip
        self.stdout.write(f"queue {queue.name}: {queue.risk} risk")


def switch(said: str | None) -> bool | None:
    """None leaves it as it is."""
    return None if said is None else said == "yes"

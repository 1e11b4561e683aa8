from __future__ import annotations

from typing import Any

import regex
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from approvals.foreign import hiding
from approvals.models import MaskRule, Queue


class Command(BaseCommand):
    help = "Hides values on pages and in lists, by the name of their place or by their looks; without either: lists."
    requires_system_checks = ()  # they load every page and the API; the servers run them

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--name", default="", help="of a member: iban also hides customerIban, *iban* any with it")
        what.add_argument("--looks", default="", metavar="REGEX", help="of a text")
        parser.add_argument("--queue", help="only there")
        parser.add_argument("--agent", default="", metavar="SLUG", help="only for its questions")
        parser.add_argument("--remove", action="store_true")

    def handle(self, *, name: str, looks: str, queue: str | None, **options: Any) -> None:
        if not name and not looks:
            for rule in MaskRule.objects.select_related("queue").order_by("pk"):
                self.stdout.write(f"{rule}\t{rule.queue.name if rule.queue else '*'}\t{rule.agent or '*'}")
            return
        found = Queue.objects.filter(name=queue).first() if queue else None
        if queue and found is None:
            raise CommandError(f"there is no queue {queue}")
        try:
            regex.compile(looks)
        except regex.error as problem:
            raise CommandError(f"--looks is no regular expression: {problem}") from None
        hiding.set_rule(
            name=name, looks=looks, queue=found, agent=options["agent"], remove=options["remove"], now=timezone.now()
        )

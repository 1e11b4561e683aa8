from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from approvals.models import User
from approvals.refusals import Refused
from approvals.verbs import staffing


class Command(BaseCommand):
    help = "Disables a person: signed out at once, tokens revoked, what they hold is free. Their decisions stay."
    requires_system_checks = ()  # they load every page and the API; the servers run them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--reason", required=True, help="stays on the trail")

    def handle(self, *, name: str, reason: str, **options: Any) -> None:
        person = User.objects.filter(username=name).first()
        if person is None:
            raise CommandError(f"There is nobody called {name}.")
        try:
            staffing.disable(person, because=reason, now=timezone.now())
        except Refused as refused:
            raise CommandError(str(refused)) from None
        self.stdout.write(f"{name} is disabled.")

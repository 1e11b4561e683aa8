from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from approvals import people
from approvals.models import User


class Command(BaseCommand):
    help = "Makes a personal API token and prints it as JSON, once."
    requires_system_checks = ()  # they load every page and the API; the servers run them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def handle(self, *, name: str, **options: Any) -> None:
        person = User.objects.filter(username=name, is_active=True).first()
        if person is None:
            raise CommandError(f"There is nobody called {name}.")
        self.stdout.write(json.dumps({"token": people.give_token(person, now=timezone.now())}))

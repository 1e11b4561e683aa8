"""What `disable_user` and `enable_user` share: a name, a reason, and one deed of `approvals.verbs.staffing`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from approvals.models import User
from approvals.refusals import Refused


class SwitchCommand(BaseCommand):
    requires_system_checks = ()  # they load every page and the API; the servers run them
    deed: ClassVar[Callable[..., None]]
    done: ClassVar[str]  # what the person is afterwards

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--reason", required=True, help="stays on the trail")

    def handle(self, *, name: str, reason: str, **options: Any) -> None:
        person = User.objects.filter(username=name).first()
        if person is None:
            raise CommandError(f"There is nobody called {name}.")
        try:
            type(self).deed(person, because=reason, now=timezone.now())
        except Refused as refused:
            raise CommandError(str(refused)) from None
        self.stdout.write(f"{name} is {self.done}.")

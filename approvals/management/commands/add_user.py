from __future__ import annotations

import getpass
import sys
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from approvals.models.people import Role
from approvals.refusals import WrongState
from approvals.verbs import staffing


class Command(BaseCommand):
    help = "Adds a person; again with the same name: replaces role and queues, and the password if one is given."
    requires_system_checks = ()  # they load every page and the API; the servers run them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--role", required=True, choices=Role.values)
        parser.add_argument("--queue", action="append", default=[], help="may be repeated; missing queues are made")
        parser.add_argument("--service", action="store_true", help="a program: decides by token only")
        parser.add_argument("--password-stdin", action="store_true", help="read the password from standard input")

    def handle(self, *, name: str, role: str, queue: list[str], service: bool, **options: Any) -> None:
        if not all(each.strip() for each in (name, *queue)):
            raise CommandError("A person and a queue need a name.")
        password = _first_line() if options["password_stdin"] else None
        if service and password:
            raise CommandError("A service person has no password: it decides by token only.")
        try:
            person = staffing.appoint(
                name, role=Role(role), queues=queue, service=service, password=password, now=timezone.now()
            )
        except ValidationError as problem:
            raise CommandError(" ".join(problem.messages)) from None
        except WrongState as refused:
            raise CommandError(str(refused)) from None
        self.stdout.write(f"{role} {person.username}" + (f" in {', '.join(queue)}" if queue else ""))
        if not service and not person.has_usable_password():
            self.stderr.write("No password yet: set one with --password-stdin.")


def _first_line() -> str:
    password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise CommandError("--password-stdin: there was nothing to read.")
    return password

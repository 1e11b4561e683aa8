"""`manage.py grant_roles --app ROLE [--auditor ROLE]`: who may do what inside PostgreSQL."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, transaction

from agentbridge import guards as ours
from approvals import guards
from approvals.trail import roles


class Command(BaseCommand):
    help = "Gives the processes' role and the auditors' role their rights. Run it as the owner, after each migration."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--app", required=True, metavar="ROLE", help="the role that DATABASE_URL of the desk names")
        parser.add_argument("--auditor", metavar="ROLE", help="may read the record, and nothing else")

    def handle(self, *args: Any, app: str, auditor: str | None, **options: Any) -> None:
        if connection.vendor != "postgresql":
            raise CommandError("SQLite has no roles: there the file belongs to the one user who runs the desk.")
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in roles.grants((*guards.ALL, *ours.GUARDS), connection, app=app, auditor=auditor):
                cursor.execute(statement)
        self.stdout.write(f"{app} writes the record and cannot change it.")

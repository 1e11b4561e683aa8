"""`manage.py grant_roles --app ROLE [--auditor ROLE]`: who may do what inside PostgreSQL."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import ProgrammingError, connection, transaction
from django.db.models import Model

from agentbridge import guards as ours
from agentbridge.models import Agent, Run, Thread
from approvals import guards
from approvals.models import Case, Task, User
from approvals.trail import roles

# What `verify_audit` reads beside the record: nobody's password, no token and no agent's headers.
HELD_AGAINST: dict[type[Model], tuple[str, ...]] = {
    Case: (), Task: (), Thread: (), Run: (), User: ("id", "pseudonym"), Agent: ("id", "slug"),
}  # fmt: skip


UNDEFINED_OBJECT = "42704"  # PostgreSQL's code for a role that is none


class Command(BaseCommand):
    help = "Gives the processes' role and the auditors' role their rights. Run it as the owner, after each migration."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--app", required=True, metavar="ROLE", help="the role that DATABASE_URL of the desk names")
        parser.add_argument("--auditor", metavar="ROLE", help="may read and verify the record, and nothing else")

    def handle(self, *args: Any, app: str, auditor: str | None, **options: Any) -> None:
        if connection.vendor != "postgresql":
            raise CommandError("SQLite has no roles: there the file belongs to the one user who runs the desk.")
        try:
            grant(app, auditor)
        except ProgrammingError as problem:
            if getattr(problem.__cause__, "sqlstate", None) != UNDEFINED_OBJECT:
                raise
            raise CommandError(f"{str(problem).strip()}. PostgreSQL makes it with: createuser ROLE") from problem
        self.stdout.write(f"{app} writes the record and cannot change it.")


def grant(app: str, auditor: str | None) -> None:
    beside = {model._meta.db_table: columns for model, columns in HELD_AGAINST.items()}
    guarded = (*guards.ALL, *ours.GUARDS)
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in roles.grants(guarded, connection, app=app, auditor=auditor, beside=beside):
            cursor.execute(statement)

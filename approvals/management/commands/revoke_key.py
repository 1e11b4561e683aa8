"""`manage.py revoke_key KID --reason …`: a signing key was stolen."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from approvals.trail import signing


class Command(BaseCommand):
    help = "Stops a signing key: it is published no more and signs nothing. Put a new one into SIGNING_KEY first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kid")
        parser.add_argument("--reason", required=True)

    def handle(self, *args: Any, kid: str, reason: str, **options: Any) -> None:
        try:
            signing.revoke(kid, reason=reason, now=timezone.now())
        except signing.Unknown as problem:
            raise CommandError(str(problem)) from None
        self.stdout.write(f"{kid} is revoked.")

"""`manage.py reencrypt_headers`: the last step of changing FIELD_KEY (`docs/operating.md`)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from agentbridge import vault
from agentbridge.models import Agent


class Command(BaseCommand):
    help = "Encrypts the agents' headers with the newest key in FIELD_KEY. Then the older ones can be taken out."
    requires_system_checks = ()  # they load every page and the API; the servers run them

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        held = Agent.objects.select_for_update().exclude(headers="").order_by("pk")
        try:
            for agent in held:
                agent.save(update_fields=["headers"])  # whatever is written is encrypted with the newest key
        except vault.Unreadable as problem:
            raise CommandError(str(problem)) from None
        self.stdout.write(f"Headers of {len(held)} agents are encrypted with the newest key.")

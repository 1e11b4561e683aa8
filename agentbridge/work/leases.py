"""Leases: who is at work on what, and until when. One covers an attempt that is really being made, and ends with it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from agentbridge.delivery.tickets import Ticket
from agentbridge.models import Resume, Run
from approvals import clock


def renew(owner: str, tickets: Sequence[Ticket]) -> None:
    """The heartbeat of the attempts that `owner` is making. A lease that has run out is not renewed: others may be at
    it already. Nor is one whose attempt is over and could not be let go of, or it would be held for ever.

    The free rows first: one that somebody holds for long must not cost the others their leases.
    """  # fmt: skip
    now = clock.now()
    until = {"lease_until": now + timedelta(seconds=settings.LEASE_SECONDS)}
    resumes = Resume.objects.filter(pk__in=[ticket.resume_pk for ticket in tickets if ticket.resume_pk is not None])
    leased: tuple[QuerySet[Any], ...] = (
        resumes.filter(state__in=["leased", "armed", "accepted"]),
        Run.objects.filter(pk__in=[ticket.run_pk for ticket in tickets]),  # ended ones too, while they are read on
    )
    mine = [rows.filter(lease_owner=owner, lease_until__gt=now) for rows in leased]
    for rows in mine:
        with transaction.atomic():
            free = rows.select_for_update(skip_locked=True, no_key=True)
            rows.filter(pk__in=list(free.values_list("pk", flat=True))).update(**until)
    for rows in mine:
        rows.exclude(**until).update(**until)


def let_go(ticket: Ticket) -> None:
    """A worker that is through with an attempt holds nothing of it; what it left unfinished is swept at once."""
    now = clock.now()
    held = Run.objects.filter(pk=ticket.run_pk, fence=ticket.fence, lease_until__isnull=False)
    held.update(lease_until=now)
    mine = Resume.objects.filter(pk=ticket.resume_pk or 0, fence=ticket.fence)
    mine.filter(state__in=["leased", "armed", "accepted"]).update(lease_until=now)

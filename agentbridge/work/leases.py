"""Leases: who is at work on what, and until when. One covers an attempt that is really being made, and ends with it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet

from agentbridge.delivery.moves import Lost
from agentbridge.delivery.tickets import Ticket
from agentbridge.models import Resume, Run
from approvals import clock

READER = "reader"  # whoever reads again what a lost worker left
READERS = 3  # that may be lost on one stream


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


def begin_reading(run: Run, *, now: datetime) -> bool:
    """On record before the first byte is read again: what kills its reader must not kill one after the other.

    False: so many began and never came back that nobody should. Raises `Lost` where another is at it.
    """
    free = Run.objects.filter(Q(lease_until=None) | Q(lease_until__lte=now), pk=run.pk)
    until = clock.at_least(now) + timedelta(seconds=settings.LEASE_SECONDS)
    if not free.update(lease_owner=READER, lease_until=until, lost_readers=F("lost_readers") + 1):
        raise Lost(run)
    return Run.objects.filter(pk=run.pk, lost_readers__lte=READERS).exists()


def end_reading(run: Run, *, now: datetime) -> None:
    """Its reader came back, with whatever it found: it is none of the lost ones."""
    Run.objects.filter(pk=run.pk, lost_readers__gt=0).update(lost_readers=F("lost_readers") - 1)
    Run.objects.filter(pk=run.pk, lease_owner=READER).update(lease_until=now)

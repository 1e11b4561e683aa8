"""Who has a case open right now: a courtesy that expires by itself and stops nobody."""

from __future__ import annotations

from datetime import datetime, timedelta

from approvals import permissions
from approvals.models import Case, Reading, User
from approvals.verbs import notes

EVERY = 20  # seconds between two signs of an open page
GONE_AFTER = timedelta(seconds=2.5 * EVERY)


def here(user: User, case: Case, *, shown: str = "", now: datetime) -> None:
    """This person has the page open: what is written to them there meanwhile counts as seen.

    `shown`: the code of the only task that the page shows; "" where it shows all of them.
    """
    Reading.objects.update_or_create(user=user, case=case, defaults={"at": now})
    Reading.objects.filter(at__lt=now - timedelta(days=1)).delete()
    tasks = permissions.visible_tasks(user).filter(case=case)
    tasks = tasks.filter(code=shown) if shown else tasks
    notes.seen(user, tasks.values_list("pk", flat=True), now=now)


def others(user: User, case: Case, *, now: datetime) -> list[str]:
    """The names of the other people who are reading it, in the order of their names."""
    there = Reading.objects.filter(case=case, at__gte=now - GONE_AFTER).exclude(user=user).select_related("user")
    return sorted(reading.user.display_name for reading in there if reading.user.is_active)

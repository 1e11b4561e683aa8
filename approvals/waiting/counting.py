"""What is open at a glance: every number of the rail, from one read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import BooleanField, Count, ExpressionWrapper, Q, Subquery

from approvals import permissions
from approvals.models import AuditEntry, Task, User
from approvals.models.cases import TaskQuerySet
from approvals.waiting import selecting

COUNTED = 1_000
SOON_MINUTES = 15


@dataclass(frozen=True, slots=True)
class Counted:
    """A number that stops counting: `1,000+` rather than a scan."""

    number: int

    @property
    def all_counted(self) -> bool:
        return self.number <= COUNTED

    def __str__(self) -> str:
        return f"{self.number:,}" if self.all_counted else f"{COUNTED:,}+"


@dataclass(frozen=True, slots=True)
class Facet:
    """Some open tasks that are alike in what the rail counts."""

    queue: str
    risk: str
    agent: str
    agent_name: str
    tool: str
    reason: str
    claimed: str  # user name of who is on it, "" for nobody
    mine: bool
    soon: bool
    aside: bool  # set aside by this person
    number: int


@dataclass(frozen=True, slots=True)
class Glance:
    """What the rail of the page counts, the place in the trail at which it was true, and the newest task then."""

    facets: list[Facet]
    cursor: int
    newest: int

    @property
    def open(self) -> Counted:
        """What is to do now: without what was set aside, unless not all is counted."""
        number = sum(facet.number for facet in self.facets)
        return Counted(number if number > COUNTED else sum(facet.number for facet in self.facets if not facet.aside))

    @property
    def all_counted(self) -> bool:
        return sum(facet.number for facet in self.facets) <= COUNTED

    def count(self, wanted: Callable[[Facet], bool], *, aside: bool = False) -> int | None:
        """None where not all is counted: half a number would mislead."""
        if not self.all_counted:
            return None
        return sum(facet.number for facet in self.facets if facet.aside == aside and wanted(facet))

    def by(self, trait: Callable[[Facet], str]) -> dict[str, int]:
        """Numbers by queue, agent …, as far as they are counted."""
        numbers: dict[str, int] = {}
        for facet in self.facets:
            if not facet.aside:
                numbers[trait(facet)] = numbers.get(trait(facet), 0) + facet.number
        return numbers


def glance(user: User, *, now: datetime) -> Glance:
    """One grouped read of at most `COUNTED + 1` open tasks, from which every number of the rail follows."""
    some = _waiting(user, now=now).order_by().values("pk")[: COUNTED + 1]
    soon = now + timedelta(minutes=SOON_MINUTES)
    rows = list(
        Task.objects.filter(pk__in=some)
        .order_by()
        .values_list("queue__name", "queue__risk", "agent", "agent_name", "tool", "reason", "claimed_by__username")
        .annotate(
            mine=_is(claimed_by=user),
            soon=_is(due_at__isnull=False, due_at__lte=soon),
            aside=selecting.aside(user, until__gt=now),
            newest_entry=Subquery(AuditEntry.objects.order_by("-seq").values("seq")[:1]),
            newest_task=Subquery(Task.objects.order_by("-pk").values("pk")[:1]),
            number=Count("pk"),
        )
    )
    facets = [
        Facet(queue, risk, agent, name, tool, reason, claimed or "", bool(mine), soon, bool(aside), number)
        for queue, risk, agent, name, tool, reason, claimed, mine, soon, aside, _entry, _task, number in rows
    ]
    return Glance(facets, (rows[0][-3] or 0) if rows else newest_seq(), (rows[0][-2] or 0) if rows else 0)


def newest_seq() -> int:
    return AuditEntry.objects.order_by("-seq").values_list("seq", flat=True).first() or 0


def count(user: User, *, now: datetime) -> Counted:
    """What is to do now, for the frame of every page."""
    waiting = _waiting(user, now=now).exclude(selecting.aside(user, until__gt=now))
    return Counted(waiting.order_by()[: COUNTED + 1].count())


def _waiting(user: User, *, now: datetime) -> TaskQuerySet:
    return selecting.open_tasks(permissions.visible_tasks(user), now=now)


def _is(**condition: object) -> ExpressionWrapper:
    return ExpressionWrapper(Q(**condition), output_field=BooleanField())

"""What waits for people: the filters of the queue page, its pages by keyset and its counts.

Everything here is flat in the number of open tasks: a page reads one index from a place on, and nothing is counted
beyond `COUNTED`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import BooleanField, Count, ExpressionWrapper, Q, Subquery
from django.db.models.expressions import RawSQL
from django.http import QueryDict

from approvals import audit, permissions
from approvals.models import AuditEntry, Case, Queue, Task, User
from approvals.models.cases import EXPIRED, State, TaskQuerySet
from approvals.models.people import Role

PAGE = 50
COUNTED = 1_000
SOON_MINUTES = 15
STATES = [State.OPEN, State.SETTLED, EXPIRED, State.WITHDRAWN, State.QUARANTINED]


@dataclass(frozen=True, kw_only=True)
class Filters:
    """As in the URL. What is not known there filters nothing away silently: it is just no filter."""

    queues: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    state: str = State.OPEN
    q: str = ""
    claimed: str = ""  # "me", "nobody"
    risk: str = ""
    asks: bool = False  # questions without a tool call
    due: int | None = None  # minutes from now
    after: str = ""  # place of the last row of the page before

    @classmethod
    def of(cls, query: QueryDict) -> Filters:
        due = query.get("due", "")
        state = query.get("state", State.OPEN)
        return cls(
            queues=tuple(filter(None, query.getlist("queue"))),
            agents=tuple(filter(None, query.getlist("agent"))),
            state=state if state in STATES else State.OPEN,
            q=query.get("q", "").strip(),
            claimed=query.get("claimed", ""),
            risk=query.get("risk", ""),
            asks=query.get("asks") == "1",
            due=int(due) if due.isascii() and due.isdigit() and len(due) < 7 else None,
            after=query.get("after", ""),
        )

    @property
    def narrow(self) -> bool:
        """Whether this is less than all that is open."""
        return self != Filters(after=self.after)


@dataclass(frozen=True, slots=True)
class Page:
    tasks: list[Task]
    next: str  # place to go on from; "" at the end


@dataclass(frozen=True, slots=True)
class Counted:
    """A number that stops counting: `1,000+` rather than a scan."""

    number: int

    @property
    def all_counted(self) -> bool:
        return self.number <= COUNTED

    def __str__(self) -> str:
        return f"{self.number:,}" if self.all_counted else f"{COUNTED:,}+"


def matching(user: User, filters: Filters, *, now: datetime) -> TaskQuerySet:
    """The tasks of this person's queues that the filters let through, in no order yet."""
    tasks = permissions.visible_tasks(user)
    for wanted, condition in (
        (filters.queues, Q(queue__name__in=filters.queues)),
        (filters.agents, Q(agent__in=filters.agents)),
        (filters.risk, Q(queue__risk=filters.risk)),
        (filters.claimed == "me", Q(claimed_by=user)),
        (filters.claimed == "nobody", Q(claimed_by=None)),
        (filters.asks, Q(tool="")),
        (filters.due is not None, Q(due_at__lte=now + timedelta(minutes=filters.due or 0))),
    ):
        tasks = tasks.filter(condition) if wanted else tasks
    for word in audit.cleaned(filters.q).split():
        tasks = tasks.filter(search_text__contains=word)
    return tasks


def page(user: User, filters: Filters, *, queues: Sequence[Queue], now: datetime) -> Page:
    """Open tasks by deadline, those without one last; every other state newest first. `queues`: those of the user."""
    tasks = matching(user, filters, now=now)
    if filters.state == State.OPEN:
        wanted = [queue for queue in queues if not filters.queues or queue.name in filters.queues]
        found = _open_page(tasks.filter(state=State.OPEN), filters.after, queues=wanted, edge=_edge(now))
    else:
        found = _newest_page(_in_state(tasks, filters.state, edge=_edge(now)), filters.after)
    return Page(found[:PAGE], _place(found[PAGE - 1]) if len(found) > PAGE else "")


def _open_page(tasks: TaskQuerySet, after: str, *, queues: Sequence[Queue], edge: datetime) -> list[Task]:
    """The first of each queue, with and without a deadline, and of these the first: each is a short walk on an index.

    Asked in one go (`queue IN … ORDER BY … NULLS LAST`) databases read and sort all that is open.
    """
    if not queues:
        return []
    due_at, pk = _read_place(after)
    heads: list[TaskQuerySet] = []
    for queue in queues:
        own = tasks.filter(queue=queue)
        if due_at is not None or pk is None:
            dated = own.filter(due_at__gt=edge)
            if due_at is not None:
                dated = dated.filter(due_at__gte=due_at).filter(Q(due_at__gt=due_at) | Q(pk__gt=pk))
            heads.append(dated.order_by("due_at", "pk"))
        heads.append(own.filter(due_at=None, pk__gt=pk if due_at is None and pk else 0).order_by("pk"))
    return list(_for_rows(Task.objects.filter(pk__in=_together(heads))).soonest_first()[: PAGE + 1])


def _together(heads: Sequence[TaskQuerySet]) -> RawSQL:
    """The keys of the first rows of each, as one subquery: SQLite takes no LIMIT in a part of Django's own union."""
    parts: list[str] = []
    params: list[Any] = []
    for number, head in enumerate(heads):
        sql, values = head.values("pk")[: PAGE + 1].query.sql_with_params()
        parts.append(f"SELECT * FROM ({sql}) AS head{number}")  # noqa: S608 - made of querysets, values are bound
        params += values
    return RawSQL(" UNION ALL ".join(parts), params)  # noqa: S611


def _for_rows(tasks: TaskQuerySet) -> TaskQuerySet:
    tasks = tasks.select_related("case", "queue", "claimed_by")
    return tasks.defer("kit", "search_text", "results", "refs", "case__refs", "conclusion", "deadline_text")


def _newest_page(tasks: TaskQuerySet, after: str) -> list[Task]:
    _due_at, pk = _read_place(after)
    return list(_for_rows(tasks.filter(pk__lt=pk) if pk else tasks).order_by("-pk")[: PAGE + 1])


def _in_state(tasks: TaskQuerySet, state: str, *, edge: datetime) -> TaskQuerySet:
    late = Q(pk__in=tasks.filter(case__in=Case.objects.filter(_late(edge))).values("pk"))
    if state == EXPIRED:
        return tasks.filter(late)
    return tasks.filter(state=state).exclude(late) if state == State.SETTLED else tasks.filter(state=state)


def _late(edge: datetime) -> Q:
    return Q(state__in=[State.OPEN, State.SETTLED], sent_at__isnull=True, deadline__lte=edge)


def _edge(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.EXPIRY_MARGIN_SECONDS)


def _place(task: Task) -> str:
    text = f"{task.due_at.isoformat() if task.due_at else ''} {task.pk}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_place(place: str) -> tuple[datetime | None, int | None]:
    """Where the page before ended; an unreadable place is the beginning."""
    try:
        due_at, _space, pk = base64.urlsafe_b64decode(place + "=" * (-len(place) % 4)).decode().partition(" ")
        return (datetime.fromisoformat(due_at) if due_at else None), int(pk)
    except (ValueError, binascii.Error):
        return None, None


@dataclass(frozen=True, slots=True)
class Facet:
    """Some open tasks that are alike in what the rail counts."""

    queue: str
    agent: str
    high: bool
    asks: bool
    mine: bool
    soon: bool
    number: int


@dataclass(frozen=True, slots=True)
class Glance:
    """What the rail of the page counts, and the place in the trail at which it was true."""

    facets: list[Facet]
    cursor: int

    @property
    def open(self) -> Counted:
        return Counted(sum(facet.number for facet in self.facets))

    def count(self, wanted: Callable[[Facet], bool]) -> int | None:
        """None where not all is counted: half a number would mislead."""
        if not self.open.all_counted:
            return None
        return sum(facet.number for facet in self.facets if wanted(facet))

    def by(self, trait: Callable[[Facet], str]) -> dict[str, int]:
        """Numbers by queue or agent; empty where not all is counted."""
        numbers: dict[str, int] = {}
        for facet in self.facets if self.open.all_counted else []:
            numbers[trait(facet)] = numbers.get(trait(facet), 0) + facet.number
        return numbers


def glance(user: User, *, now: datetime) -> Glance:
    """One grouped read of at most `COUNTED + 1` open tasks, from which every number of the rail follows."""
    some = _open_tasks(user, now=now).order_by().values("pk")[: COUNTED + 1]
    edge = now + timedelta(minutes=SOON_MINUTES)
    newest = AuditEntry.objects.order_by("-seq").values("seq")[:1]
    rows = list(
        Task.objects.filter(pk__in=some)
        .order_by()
        .values_list("queue__name", "agent", _is(queue__risk=Queue.Risk.HIGH), _is(tool=""), _is(claimed_by=user))
        .annotate(soon=_is(due_at__isnull=False, due_at__lte=edge), newest=Subquery(newest), number=Count("pk"))
    )
    facets = [
        Facet(queue, agent, high, asks, mine, soon, number)
        for queue, agent, high, asks, mine, soon, _newest, number in rows
    ]
    return Glance(facets, rows[0][-2] or 0 if rows else newest_seq())


def newest_seq() -> int:
    return AuditEntry.objects.order_by("-seq").values_list("seq", flat=True).first() or 0


def _is(**condition: object) -> ExpressionWrapper:
    return ExpressionWrapper(Q(**condition), output_field=BooleanField())


def count(user: User, *, now: datetime) -> Counted:
    return Counted(_open_tasks(user, now=now).order_by()[: COUNTED + 1].count())


def _open_tasks(user: User, *, now: datetime) -> TaskQuerySet:
    return permissions.visible_tasks(user).filter(Q(due_at__gt=_edge(now)) | Q(due_at=None), state=State.OPEN)


def may_claim(user: User, task: Task) -> bool:
    return task.state == State.OPEN and permissions.role_of(user) == Role.REVIEWER and permissions.can_claim(user, task)

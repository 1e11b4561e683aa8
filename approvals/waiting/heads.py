"""The first open tasks of each queue from a place on: short walks on one index, put together in one statement.

Asked in one go (`queue IN … ORDER BY … NULLS LAST`) databases read and sort all that is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.db.models.expressions import RawSQL

from approvals.models import Queue, User
from approvals.models.cases import State, TaskQuerySet
from approvals.waiting import selecting
from approvals.waiting.places import RANKS, Place


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Who asks for how many of which tasks."""

    user: User
    tasks: TaskQuerySet
    queues: Sequence[Queue]
    now: datetime
    size: int

    def heads(self, here: Place | None, *, only: str = "", without: str = "") -> list[TaskQuerySet]:
        """For each queue the tasks after this place, with and without a deadline; of one agent, or of all others."""
        tasks = self.tasks.filter(~selecting.aside(self.user), state=State.OPEN)
        tasks = tasks.filter(agent=only) if only else tasks.exclude(agent=without) if without else tasks
        return [head for queue in self.queues for head in self._of(tasks, queue, here)]

    def _of(self, tasks: TaskQuerySet, queue: Queue, here: Place | None) -> Iterator[TaskQuerySet]:
        own, rank = tasks.filter(queue=queue), RANKS[queue.risk]
        if here is None or here.due_at is not None:
            dated = own.filter(due_at__gt=selecting.edge(self.now))
            yield (_behind(dated, here, rank) if here else dated).order_by("due_at", "pk")
        undated = own.filter(due_at=None)
        if here is None or here.due_at is not None or rank < here.rank:
            yield undated.order_by("pk")
        elif rank == here.rank:
            yield undated.filter(pk__gt=here.pk).order_by("pk")

    def together(self, heads: Sequence[TaskQuerySet], *, back: bool) -> Q:
        """The keys of the first rows of each, and of what came `back` from being set aside."""
        if not self.queues:
            return Q(pk__in=[])
        if back:
            returned = selecting.open_tasks(self.tasks, now=self.now)
            heads = [*heads, returned.filter(selecting.set_aside(self.user, until__lte=self.now)).order_by("pk")]
        return Q(pk__in=_union(heads, self.size))


def _behind(dated: TaskQuerySet, here: Place, rank: int) -> TaskQuerySet:
    """What comes later: with an equal deadline the risk of the queue decides, then the age."""
    if rank > here.rank:
        return dated.filter(due_at__gt=here.due_at)
    dated = dated.filter(due_at__gte=here.due_at)
    return dated.filter(Q(due_at__gt=here.due_at) | Q(pk__gt=here.pk)) if rank == here.rank else dated


def _union(heads: Sequence[TaskQuerySet], size: int) -> RawSQL:
    """As one subquery: SQLite takes no LIMIT in a part of Django's own union."""
    parts: list[str] = []
    params: list[Any] = []
    for number, head in enumerate(heads):
        sql, values = head.values("pk")[:size].query.sql_with_params()
        parts.append(f"SELECT * FROM ({sql}) AS head{number}")  # noqa: S608 - made of querysets, values are bound
        params += values
    return RawSQL(" UNION ALL ".join(parts), params)  # noqa: S611

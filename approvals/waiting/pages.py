"""Pages of the queue by keyset: they neither skip nor repeat a row while others arrive and go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case as When_
from django.db.models import F, FilteredRelation, IntegerField, Q, Value, When

from approvals import permissions
from approvals.models import Case, Queue, Task, User
from approvals.models.cases import State, TaskQuerySet
from approvals.models.people import Role
from approvals.waiting import fairness, heads, places, selecting
from approvals.waiting.counting import Glance
from approvals.waiting.filters import Filters
from approvals.waiting.places import RANKS, Place, Places

PAGE = 50


@dataclass(frozen=True, slots=True)
class Page:
    """`next`: place to go on from, "" at the end. `flood`: the agent that takes turns with the others."""

    tasks: list[Task]
    next: str
    flood: str = ""


def page(user: User, filters: Filters, *, queues: Sequence[Queue], glance: Glance, now: datetime) -> Page:
    """Open tasks by deadline, risk of the queue and age; every other state newest first. `queues`: those of the user.

    What this person set aside stays away until its time; then it is on top of the first page.
    """
    tasks = selecting.matching(user, filters, now=now)
    if filters.state != State.OPEN:
        return _newest_first(user, selecting.in_state(tasks, filters.state, now=now), places.read(filters.after).rows)
    if filters.aside:
        return _set_aside(user, tasks, now=now)
    here = places.read(filters.after)
    wanted = [queue for queue in queues if not filters.queues or queue.name in filters.queues]
    ask = heads.Ask(user=user, tasks=tasks, queues=wanted, now=now, size=PAGE + 1)
    if here.agent:
        return _in_turns(ask, here)
    found = _rows(user, ask.together(ask.heads(here.rows), back=not filters.after))
    agent = "" if filters.agents else fairness.flooding(found[:PAGE], glance.by(lambda facet: facet.agent))
    if agent and (turns := _in_turns(ask, Places(here.rows, agent, here.rows), back=not filters.after)):
        return turns
    return Page(found[:PAGE], str(Places(place_of(found[PAGE - 1]))) if len(found) > PAGE else "")


def _in_turns(ask: heads.Ask, here: Places, *, back: bool = False) -> Page:
    """A page on which the rows of one agent leave room for those of the others."""
    parts = [*ask.heads(here.rows, without=here.agent), *ask.heads(here.flood, only=here.agent)]
    found = _rows(ask.user, ask.together(parts, back=back), most=2 * ask.size)
    shown, rows, flood = fairness.take_turns(found, here.agent, size=PAGE)
    if rows is None and flood is None:
        return Page(shown, "")
    ended = Places(
        place_of(rows) if rows else here.rows, here.agent, place_of(flood) if flood else here.flood
    )
    return Page(shown, str(ended) if len(found) > len(shown) else "", here.agent)


def _newest_first(user: User, tasks: TaskQuerySet, here: Place | None) -> Page:
    found = list(for_rows(user, tasks.filter(pk__lt=here.pk) if here else tasks).order_by("-pk")[: PAGE + 1])
    return Page(found[:PAGE], str(Places(place_of(found[PAGE - 1]))) if len(found) > PAGE else "")


def _set_aside(user: User, tasks: TaskQuerySet, *, now: datetime) -> Page:
    """All of it: `asides.MOST` is a page."""
    mine = selecting.open_tasks(tasks, now=now).filter(selecting.set_aside(user, until__gt=now))
    return Page(list(for_rows(user, mine).order_by(F("aside_until"), "pk")[:PAGE]), "")


def following(user: User, *, beside: Case, now: datetime) -> Task | None:
    """What waits for this person next, in the order of the queue, elsewhere than in this case."""
    if permissions.role_of(user) != Role.REVIEWER:
        return None
    tasks = permissions.visible_tasks(user).exclude(case=beside)
    ask = heads.Ask(user=user, tasks=tasks, queues=user.own_queues, now=now, size=1)
    return next(iter(_rows(user, ask.together(ask.heads(None), back=True))), None)


def still_shown(user: User, codes: Sequence[str], *, now: datetime) -> list[Task]:
    """Rows that stand on an open page although they no longer belong there; what was set aside may go."""
    tasks = permissions.visible_tasks(user).filter(code__in=codes[: 2 * PAGE])
    return list(for_rows(user, tasks.exclude(selecting.aside(user, until__gt=now))))


def _rows(user: User, keys: Q, *, most: int = PAGE + 1) -> list[Task]:
    return list(in_order(for_rows(user, Task.objects.filter(keys)))[:most])


def in_order(tasks: TaskQuerySet) -> TaskQuerySet:
    """What came back first, then deadline, risk of the queue, age."""
    risk = When_(
        *(When(queue__risk=risk, then=Value(-rank)) for risk, rank in RANKS.items()), output_field=IntegerField()
    )
    return tasks.order_by(
        F("aside_until").asc(nulls_last=True), F("due_at").asc(nulls_last=True), risk, "pk"
    )


def for_rows(user: User, tasks: TaskQuerySet) -> TaskQuerySet:
    """With all that a row says, and until when and why this person set it aside."""
    tasks = tasks.select_related("case", "queue", "claimed_by").annotate(
        mine=FilteredRelation("set_asides", condition=Q(set_asides__user=user)),
        aside_until=F("mine__until"),
        aside_note=F("mine__note"),
    )
    return tasks.defer("kit", "search_text", "results", "refs", "case__refs", "conclusion", "deadline_text")


def place_of(task: Task) -> Place:
    return Place(task.due_at, RANKS[task.queue.risk], task.pk)

"""A case of so many tasks that its page holds one of them whole, and beside it a list of the others. Reads only.

What the page costs does not grow with the case. Places never change once a case is open, so a page of the list is a
range of places, and no task is missed or repeated.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Q
from django.db.models.functions import Length

from approvals import exhibits, headlines, permissions
from approvals.desk import siblings
from approvals.exhibits import Content
from approvals.foreign import folding, masking
from approvals.headlines import Part
from approvals.models import Case, Decision, Exhibit, Queue, Task, User
from approvals.models.cases import State, TaskQuerySet
from approvals.models.people import Role
from approvals.prepared import Prepared, slot
from approvals.verbs import batch

MOST_WHOLE = 50  # tasks that one page shows whole
LISTED = 50  # on one page of the list
HEAVY = ("kit", "refs", "results", "search_text", "flags")  # of a task: what no list shows
DECIDING = (Role.REVIEWER, Role.OPERATOR)
AT_ONCE = 100  # open tasks looked at for one that this person may decide

past_the_whole = Prepared(
    lambda: Task.objects.filter(case=slot("case"), position__gte=MOST_WHOLE).values_list("pk")[:1]
)


@dataclass(frozen=True, kw_only=True)
class Member:
    """One line of the list; of another queue's task no more than its state is said."""

    task: Task
    state: str  # of the task, or what was decided
    parts: list[Part]  # of its headline, without what is hidden: never lifted with the task that is shown
    is_closed: bool
    is_mine: bool
    is_here: bool  # the one that is shown whole


@dataclass(frozen=True, kw_only=True)
class Range:
    """One page of the list."""

    first: int  # numbers as people count, from 1
    last: int
    left: int  # tasks not decided
    is_here: bool


@dataclass(frozen=True, kw_only=True)
class LongCase:
    """What the page says of the case as a whole, around the one task that it shows."""

    task: Task  # the one that is shown
    total: int
    decided: int
    queues: list[Queue]
    verdict_counts: list[tuple[str, int]]
    agent: str
    is_high_risk: bool
    members: list[Member]
    ranges: list[Range]
    before: str  # codes of its neighbours; "" at the ends
    after: str
    waiting: Task | None  # the next one that waits for this person; it may be the one that is shown

    @property
    def listed_from(self) -> int:
        return next(each.first for each in self.ranges if each.is_here)

    @property
    def alike(self) -> list[str]:
        """Codes of the listed tasks that are open and use the same tool: what can be looked at side by side."""
        open_ones = (one.task for one in self.members if not one.is_closed and one.state == State.OPEN)
        return [task.code for task in open_ones if task.tool == self.task.tool][: batch.MOST]


def is_long(case: Case) -> bool:
    """Whether there are more than one page shows whole; places are numbered from 0 without a gap."""
    return bool(past_the_whole.rows(case=case.pk))


def shown_task(user: User, case: Case, wanted: str, *, now: datetime) -> Task:
    """The task of that code; without one, the next that waits for this person, else the first they see."""
    tasks = case.tasks.select_related("queue", "claimed_by")
    if found := tasks.filter(code=wanted).first() if wanted else None:
        return found
    seen = permissions.visible_tasks(user).filter(case=case).order_by("position")
    return tasks.get(pk=(next_waiting(user, case, now=now) or seen[:1].get()).pk)


def next_waiting(user: User, case: Case, *, after: int = -1, now: datetime) -> Task | None:
    """The next task behind a place, then from the beginning, that this person can decide now."""
    if permissions.role_of(user) not in DECIDING:
        return None
    left = permissions.visible_tasks(user).filter(case=case, case__blocked="").open(now).select_related("queue")
    ordered = left.annotate(comes_around=Q(position__lte=after)).order_by("comes_around", "position")
    start, some = 0, list(ordered[:AT_ONCE])
    while some:
        if found := next((task for task in some if permissions.offered(user, task)[0]), None):
            return found
        start += AT_ONCE
        some = list(ordered[start : start + AT_ONCE]) if len(some) == AT_ONCE else []
    return None


def around(user: User, case: Case, task: Task, *, listed_from: int = 0, now: datetime) -> LongCase:
    """The case around one of its tasks. `listed_from`: a number on another page of the list than the task's own."""
    places = list(case.tasks.order_by("position").values_list("state", "code"))
    start = (listed_from - 1 if 1 <= listed_from <= len(places) else task.position) // LISTED * LISTED
    left = Counter(place // LISTED for place, (state, _code) in enumerate(places) if state != State.SETTLED)
    queues = list(Queue.objects.filter(pk__in=case.tasks.values("queue")).order_by("name"))
    own = permissions.visible_tasks(user).filter(case=case)
    return LongCase(
        task=task,
        total=len(places),
        decided=len(places) - left.total(),
        queues=queues,
        verdict_counts=_verdict_counts(own),
        agent=own.order_by("position").values_list("agent_name", flat=True)[:1].get(),
        is_high_risk=any(queue.risk == Queue.Risk.HIGH for queue in queues if _sees(user, queue)),
        members=_members(user, case, task, start, now),
        ranges=[
            Range(first=at + 1, last=min(at + LISTED, len(places)), left=left[at // LISTED], is_here=at == start)
            for at in range(0, len(places), LISTED)
        ],
        before=places[task.position - 1][1] if task.position else "",
        after=places[task.position + 1][1] if task.position + 1 < len(places) else "",
        waiting=next_waiting(user, case, after=task.position, now=now),
    )


def differing(user: User, task: Task, shown: Content) -> siblings.Differing | None:
    """Where a call differs from those of its tool on its page of the list; calls too long for a page are left out."""
    if shown.tool is None:
        return None
    listed = _listed(task.case, task.position // LISTED * LISTED).exclude(pk=task.pk).filter(tool=task.tool)
    near = [other.pk for other in listed.select_related("queue") if permissions.can_see(user, other)]
    newest = Exhibit.objects.filter(task__in=near, digest=F("task__shown_digest")).order_by("task__position")
    short = newest.alias(size=Length("body")).filter(size__lte=folding.LONGEST_ON_PAGE)
    bodies = dict(short.values_list("task", "body"))
    return siblings.beside(shown, [exhibits.load(body) for body in bodies.values()])


def _members(user: User, case: Case, shown: Task, start: int, now: datetime) -> list[Member]:
    tasks = list(_listed(case, start).select_related("queue", "claimed_by").order_by("position"))
    live = Decision.objects.live().filter(task__in=tasks)
    given = dict(live.values_list("task", "verdict"))
    given |= dict.fromkeys(live.filter(edits__isnull=False).values_list("task", flat=True), "edited")
    return [_member(user, task, shown, given.get(task.pk, ""), now) for task in tasks]


def _member(user: User, task: Task, shown: Task, given: str, now: datetime) -> Member:
    is_closed = not permissions.can_see(user, task)
    return Member(
        task=task,
        state=task.state_at(now) if is_closed or not given else given,
        parts=[] if is_closed else _headline(task),
        is_closed=is_closed,
        is_mine=task.claimed_by_id == user.pk,
        is_here=task.pk == shown.pk,
    )


def _headline(task: Task) -> list[Part]:
    return [one._replace(value=masking.masked_value(one.name, one.value)) for one in headlines.parts(task.headline)]


def _listed(case: Case, start: int) -> TaskQuerySet:
    return case.tasks.filter(position__gte=start, position__lt=start + LISTED).defer(*HEAVY)


def _verdict_counts(tasks: TaskQuerySet) -> list[tuple[str, int]]:
    live = Decision.objects.live().filter(task__in=tasks)
    return list(live.values_list("verdict").annotate(count=Count("pk")).order_by("verdict"))


def _sees(user: User, queue: Queue) -> bool:
    return permissions.sees_all(user) or queue.pk in user.queue_ids

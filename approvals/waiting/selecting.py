"""Which tasks the filters of the queue let through."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.utils.timezone import make_aware

from approvals import audit, permissions
from approvals.models import Case, Decision, SetAside, Task, User
from approvals.models.cases import EXPIRED, State, TaskQuerySet, Verdict
from approvals.models.people import Role
from approvals.verbs import claiming
from approvals.waiting.filters import Filters


def matching(user: User, filters: Filters, *, now: datetime) -> TaskQuerySet:
    """The tasks of this person's queues that the filters let through, in no order and of any state yet."""
    tasks = permissions.visible_tasks(user)
    for wanted, condition in (
        (filters.queues, Q(queue__name__in=filters.queues)),
        (filters.agents, Q(agent__in=filters.agents)),
        (filters.tools, Q(tool__in=filters.tools)),
        (filters.reasons, Q(reason__in=filters.reasons)),
        (filters.thread, Q(thread_key=filters.thread)),
        (filters.risk, Q(queue__risk=filters.risk)),
        (filters.claimed, _on_it(user, filters.claimed, now)),
        (filters.verdict or filters.by, _decided(user, filters)),
        (filters.asks, Q(tool="")),
        (filters.due is not None, Q(due_at__lte=now + timedelta(minutes=filters.due or 0))),
        (filters.since, Q(case__opened_at__gte=_midnight(filters.since))),
        (filters.until, Q(case__opened_at__lt=_midnight(filters.until, days=1))),
    ):
        tasks = tasks.filter(condition) if wanted else tasks
    for word in audit.cleaned(filters.q).split():
        tasks = tasks.filter(search_text__contains=word)
    return tasks


def _on_it(user: User, claimed: str, now: datetime) -> Q:
    if claimed == "me":
        return Q(claimed_by=user)
    if claimed == "nobody":
        return Q(claimed_by=None) | Q(claimed_at__lte=now - claiming.STALE)
    return Q(claimed_by__username=claimed)


def _decided(user: User, filters: Filters) -> Exists:
    """Whether the decision that counts is this verdict, and by whom."""
    live = Decision.objects.live().filter(task=OuterRef("pk"))
    if filters.verdict:
        verdict = Verdict.APPROVED if filters.verdict == "edited" else filters.verdict
        live = live.filter(verdict=verdict, edits__isnull=filters.verdict != "edited")
    if filters.by:
        live = live.filter(by=user) if filters.by == "me" else live.filter(by__username=filters.by)
    return Exists(live)


def _midnight(day: date | None, *, days: int = 0) -> datetime | None:
    """The beginning of a day where the person is; the end of the calendar for days beyond it."""
    if day is None:
        return None
    try:
        return make_aware(datetime.combine(day + timedelta(days=days), time()))
    except OverflowError:
        return make_aware(datetime(9998, 12, 31))  # noqa: DTZ001 - made aware here


def edge(now: datetime) -> datetime:
    """Deadlines up to here count as passed."""
    return now + timedelta(seconds=settings.EXPIRY_MARGIN_SECONDS)


def open_tasks(tasks: TaskQuerySet, *, now: datetime) -> TaskQuerySet:
    return tasks.filter(Q(due_at__gt=edge(now)) | Q(due_at=None), state=State.OPEN)


def in_state(tasks: TaskQuerySet, state: str, *, now: datetime) -> TaskQuerySet:
    """Tasks that are not open. An expired case has stored states of its own: it is late whatever they are."""
    too_late = Case.objects.filter(
        state__in=[State.OPEN, State.SETTLED], sent_at__isnull=True, deadline__lte=edge(now)
    )
    late = Q(pk__in=tasks.filter(case__in=too_late).values("pk"))
    if state == EXPIRED:
        return tasks.filter(late)
    return tasks.filter(state=state).exclude(late) if state == State.SETTLED else tasks.filter(state=state)


def aside(user: User, **more: object) -> Exists:
    """Whether this person set a task aside; `until__gt=now`: and it is not back yet."""
    return Exists(SetAside.objects.filter(user=user, task=OuterRef("pk"), **more))


def set_aside(user: User, **more: object) -> Q:
    """The same from the other end: the few tasks set aside, looked up by key instead of asked of every open one."""
    return Q(pk__in=SetAside.objects.filter(user=user, **more).values("task"))


def may_claim(user: User, task: Task) -> bool:
    return task.state == State.OPEN and permissions.role_of(user) == Role.REVIEWER and permissions.can_claim(user, task)

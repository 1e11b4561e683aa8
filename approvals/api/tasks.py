"""`/api/v1/tasks`: what waits for whom, and the decision itself."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from ninja import Router

from approvals import acting, audit, exhibits, permissions, reviewing
from approvals.api import bodies, paging, schema, shapes
from approvals.api.answering import answer, idempotency_key, once
from approvals.api.auth import person
from approvals.api.problems import bad_query, invalid, not_found
from approvals.api.stamps import key_of
from approvals.models import State, Task, User
from approvals.models.cases import EXPIRED, TaskQuerySet, Verdict
from approvals.schemas import Problem
from approvals.trail import sightings
from approvals.verbs import opening

router = Router(tags=["tasks"])
STATES = (State.OPEN, State.SETTLED, State.WITHDRAWN, State.QUARANTINED)
DECISION = ("verdict", "edits", "input", "comment", "reasonCode", "shownDigest")


@router.get("tasks", response={200: schema.Tasks, **schema.READ}, summary="Tasks by deadline, those without one last")
def task_list(
    request: HttpRequest, state: str = "", agent: str = "", queue: str = "", thread: str = "", q: str = "",
    limit: paging.Limit = paging.PAGE, cursor: str = "",
) -> HttpResponse:  # fmt: skip
    paging.only(request, ("state", "agent", "queue", "thread", "q"))
    asking, now = person(request), timezone.now()
    exact = {"agent": agent, "queue__name": queue, "thread_key": thread and key_of(thread)}
    found = permissions.visible_tasks(asking).filter(**{name: value for name, value in exact.items() if value})
    found = after(in_state(found, state, now), cursor)
    for word in audit.cleaned(q).split():
        found = found.filter(search_text__contains=word)
    rows = list(shapes.with_parts(found.soonest_first())[: limit + 1])
    last = rows[limit - 1] if len(rows) > limit else None
    following = last and paging.write_cursor(last.due_at and last.due_at.isoformat(), last.pk)
    return answer({"tasks": [shapes.task(row, asking=asking, now=now) for row in rows[:limit]], "next": following})


def in_state(tasks: TaskQuerySet, state: str, now: datetime) -> TaskQuerySet:
    """`expired` is computed: the whole case is too late, whatever its tasks are stored as."""
    if not state:
        return tasks
    edge = now + timedelta(seconds=settings.EXPIRY_MARGIN_SECONDS)
    late = Q(case__state__in=[State.OPEN, State.SETTLED], case__sent_at__isnull=True, case__deadline__lte=edge)
    if state == EXPIRED:
        return tasks.filter(late)
    if state not in STATES:
        raise bad_query(_("There is no task state “%(state)s”.") % {"state": state})
    # NOT of a comparison with NULL is NULL in SQL, so a case without a deadline is let in by name.
    return tasks.filter(Q(case__deadline__isnull=True) | ~late, state=state)


def after(tasks: TaskQuerySet, cursor: str) -> TaskQuerySet:
    if not cursor:
        return tasks
    due, pk = paging.read_cursor(cursor, str, int)
    if due is None:
        return tasks.filter(due_at__isnull=True, pk__gt=pk)
    at = parse_datetime(due)
    if at is None:
        raise bad_query(_("This cursor is not one of ours."))
    return tasks.filter(Q(due_at__gt=at) | Q(due_at=at, pk__gt=pk) | Q(due_at__isnull=True))


def find(user: User, code: str) -> Task:
    """The task, if this person may see it whole; else 404, whether or not it exists."""
    try:
        return shapes.with_parts(permissions.visible_tasks(user)).get(code=code)
    except Task.DoesNotExist:
        raise not_found() from None


def named(user: User, code: str) -> Task:
    """The same for a deed, which reads all the rest anew under lock."""
    task = permissions.visible_task(user, code)
    if task is None:
        raise not_found()
    return task


def shown(user: User, code: str, status: int = 200) -> HttpResponse:
    """The task as it is now, read afresh."""
    return answer(shapes.task(find(user, code), asking=user, now=timezone.now()), status)


def given_whole(task: Task, asking: User, now: datetime) -> None:
    """Where the queue wants long texts opened before a yes: this answer holds all of them."""
    exhibit = exhibits.load(task.shown[0].body)  # type: ignore[attr-defined]
    with acting.by("token"):
        opening.record(task, exhibit, opening.parts(task, exhibit), by=asking, now=now)


@router.get("tasks/{code}", response={200: schema.Task, **schema.READ}, summary="One task")
def task_detail(request: HttpRequest, code: str) -> HttpResponse:
    paging.only(request, ())
    asking, now = person(request), timezone.now()
    found = find(asking, code)
    given_whole(found, asking, now)
    sightings.read_by_program(found.case, by=asking, now=now)
    return answer(shapes.task(found, asking=asking, now=now))


@router.post("tasks/{code}/claim", response={200: schema.Task, **schema.WRITE}, summary="Say that you are on it")
def claim(request: HttpRequest, code: str) -> HttpResponse:
    return move(request, code, reviewing.claim)


@router.post("tasks/{code}/release", response={200: schema.Task, **schema.WRITE}, summary="Give it back to the queue")
def release(request: HttpRequest, code: str) -> HttpResponse:
    return move(request, code, reviewing.release)


def move(request: HttpRequest, code: str, verb: Any) -> HttpResponse:
    asking, now = person(request), timezone.now()
    bodies.read(request, ())

    def act() -> HttpResponse:
        verb(named(asking, code), by=asking, now=now)
        return shown(asking, code)

    return once(request, act, now=now)


@router.post(
    "tasks/{code}/decision", response={200: schema.Task, **schema.WRITE}, summary="Record the answer to a task",
    openapi_extra=schema.takes(schema.DecisionIn),
)  # fmt: skip
def decide(request: HttpRequest, code: str) -> HttpResponse:
    asking, now = person(request), timezone.now()
    task = named(asking, code)  # 404 before anything is said about the body; `decide` reads it anew under lock
    given = read_decision(bodies.read(request, DECISION))

    def act() -> HttpResponse:
        key = idempotency_key(request)
        decision = reviewing.decide(task, by=asking, idempotency_key=key, now=now, **given)
        if decision.recalled_at or decision.voided_at:  # the same key again, and since then it was taken back
            return shown(asking, code)
        if decision.shown_digest != decision.task.shown_digest:  # the same key again, and something else is shown now
            return shown(asking, code)
        return answer(shapes.decided(decision, asking=asking, now=timezone.now()))

    return once(request, act, now=now)


def read_decision(body: bodies.Body) -> dict[str, Any]:
    """The parts of a decision as `reviewing.decide` takes them: exact texts, null edits meaning none."""
    verdict = body.string("verdict")
    if verdict not in Verdict.values:
        raise invalid(Problem("/verdict", _("There is no such verdict.")))
    edits, given = body.exact("edits"), body.exact("input")
    if given == "null" and verdict != Verdict.ANSWERED:
        given = None  # null is an answer only where the input is the answer
    return {
        "verdict": verdict, "edits": None if edits == "null" else edits, "input": given,
        "comment": body.string("comment", ""), "reason_code": body.string("reasonCode", ""),
        "shown_digest": body.string("shownDigest"),
    }  # fmt: skip

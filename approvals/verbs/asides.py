"""“Not now”: a person sets a task aside until a time. It is never a decision, and never outlasts the deadline.

Others see the task as before; at its time it is on top of the person's queue.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta

from django.db import transaction
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals import audit, clock, locking, permissions
from approvals.models import SetAside, Task, User
from approvals.models.cases import State, last_moment
from approvals.refusals import Invalid, NotAllowed, WrongState
from approvals.schemas import Problem
from approvals.trail import chain

MOST = 50  # that one person may set aside at a time: clearing the screen is not deciding
NOTE_LIMIT = 500  # characters
MINUTES = (15, 60, 4 * 60)
MORNING = time(9)


@dataclass(frozen=True, slots=True)
class Choice:
    """A time that is offered, and what it is called."""

    until: datetime
    words: str


def choices(task: Task, *, now: datetime) -> list[Choice]:
    """The usual times that lie before the deadline of this task; none when it is too near."""
    tomorrow = localtime(now).replace(hour=MORNING.hour, minute=0, second=0, microsecond=0) + timedelta(days=1)
    offered = [Choice(now + timedelta(minutes=minutes), _words(minutes)) for minutes in MINUTES]
    return [one for one in (*offered, Choice(tomorrow, _("tomorrow at 09:00"))) if _in_time(task, one.until)]


@transaction.atomic
def set_aside(task: Task, *, by: User, until: datetime, note: str = "", now: datetime) -> SetAside:
    """Until then this person does not see it in the queue. Again: with the new time and note.

    Raises NotAllowed, WrongState, Invalid (at /until or /note).
    """
    _case, task = locking.locked(task)
    by = locking.locked_person(by)
    if not permissions.can_claim(by, task):
        raise NotAllowed(_("Only reviewers of the queue “%(queue)s” set its tasks aside.") % {"queue": task.queue.name})
    if task.state_at(clock.at_least(now)) != State.OPEN:
        raise WrongState(_("This task is not open any more."))
    _check(task, by, until, note, now)
    aside, _made = SetAside.objects.update_or_create(
        user=by, task=task, defaults={"until": until, "note": note.strip(), "at": now}
    )
    Task.objects.filter(pk=task.pk, claimed_by=by).update(claimed_by=None, claimed_at=None)
    said = f"{by.display_name} set {task.code} aside until {until:%Y-%m-%d %H:%M} UTC; nothing is decided."
    data = {"until": chain.moment(until), "note": aside.note}
    audit.record("task.set_aside", said, actor=by, task=task, data=data, now=now)
    return aside


@transaction.atomic
def pick_up(task: Task, *, by: User, now: datetime) -> None:
    """Have it in its place of the queue again. Raises NotAllowed, WrongState (it was not set aside)."""
    _case, task = locking.locked(task)
    by = locking.locked_person(by)
    gone, _rows = SetAside.objects.filter(user=by, task=task).delete()
    if not gone:
        raise WrongState(_("You did not set this task aside."))
    audit.record("task.picked_up", f"{by.display_name} picked {task.code} up again.", actor=by, task=task, now=now)


def _check(task: Task, by: User, until: datetime, note: str, now: datetime) -> None:
    problems = []
    if until <= now:
        problems.append(Problem("/until", _("This time has passed.")))
    elif not _in_time(task, until):
        problems.append(Problem("/until", _("Its deadline is earlier: it cannot be set aside for so long.")))
    if len(note) > NOTE_LIMIT:
        problems.append(Problem("/note", _("A note has at most %d characters.") % NOTE_LIMIT))
    waiting = SetAside.objects.filter(user=by, until__gt=now, task__state=State.OPEN).exclude(task=task)
    if waiting.count() >= MOST:
        problems.append(Problem("/until", _("You have set %d tasks aside; pick one up first.") % MOST))
    if problems:
        raise Invalid(problems)


def _in_time(task: Task, until: datetime) -> bool:
    return task.due_at is None or until < last_moment(task.due_at)


def _words(minutes: int) -> str:
    if minutes < 60:
        return ngettext("in %(count)d minute", "in %(count)d minutes", minutes) % {"count": minutes}
    hours = minutes // 60
    return ngettext("in %(count)d hour", "in %(count)d hours", hours) % {"count": hours}

"""Claim, take over and release: a courtesy that shows who is on a task, never a lock on deciding."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from approvals import audit, clock, locking, permissions
from approvals.models import SetAside, Task, User
from approvals.models.people import Role
from approvals.refusals import Invalid, NotAllowed, WrongState
from approvals.schemas import Problem

STALE = timedelta(minutes=30)  # who said so longer ago is perhaps not on it any more: anybody may take it


@transaction.atomic
def claim(task: Task, *, by: User, now: datetime) -> None:
    """Show others that `by` is on it. Claiming what is yours already changes nothing; a stale claim is free.

    Raises NotAllowed, WrongState.
    """
    _case, task = locking.locked(task)
    by = _claimant(task, by)
    if task.claimed_by_id == by.pk:
        return
    _take(task, by, Q(claimed_by__isnull=True) | Q(claimed_at__lte=now - STALE), now)
    before = f" from {task.claimed_by.display_name}, who did not move on" if task.claimed_by else ""
    audit.record("task.claimed", f"{by.display_name} took {task.code}{before}.", actor=by, task=task, now=now)


@transaction.atomic
def take_over(task: Task, *, by: User, reason: str, now: datetime) -> None:
    """Be on a task in another's place, and say why. Raises NotAllowed, WrongState, Invalid (no reason)."""
    _case, task = locking.locked(task)
    by = _claimant(task, by)
    holder = task.claimed_by
    if holder is None or holder.pk == by.pk:
        raise WrongState(_("Nobody else is on this task."))
    if not reason.strip():
        raise Invalid([Problem("/reason", _("Say why you take it over: the other person will read it."))])
    _take(task, by, Q(claimed_by=holder), now)
    said = f"{by.display_name} took {task.code} over from {holder.display_name}: {reason.strip()}"
    data = {"from": holder.pseudonym, "reason": reason.strip()}
    audit.record("task.taken_over", said, actor=by, task=task, data=data, now=now)


@transaction.atomic
def release(task: Task, *, by: User, now: datetime) -> None:
    """Give it back: the person on it, or an operator for someone who went home. Raises NotAllowed, WrongState."""
    _case, task = locking.locked(task)
    by = locking.locked_person(by)
    if permissions.role_of(by) not in (Role.REVIEWER, Role.OPERATOR):
        raise NotAllowed(_("Only reviewers and operators give tasks back."))
    holder = task.claimed_by
    if holder is None:
        raise WrongState(_("Nobody is on this task."))
    if holder.pk != by.pk and permissions.role_of(by) != Role.OPERATOR:
        raise NotAllowed(_("%(name)s is on this task.") % {"name": holder.display_name})
    Task.objects.filter(pk=task.pk, claimed_by=holder).update(claimed_by=None, claimed_at=None)
    audit.record("task.released", f"{by.display_name} gave {task.code} back.", actor=by, task=task, now=now)


def _claimant(task: Task, by: User) -> User:
    by = locking.locked_person(by)
    if not permissions.can_claim(by, task):
        raise NotAllowed(_("Only reviewers of the queue “%(queue)s” claim its tasks.") % {"queue": task.queue.name})
    return by


def _take(task: Task, by: User, free: Q, now: datetime) -> None:
    """The WHERE clause is the lock: of two who take at once exactly one sees a changed row."""
    open_and_free = Task.objects.open(clock.at_least(now)).filter(free, pk=task.pk)
    if not open_and_free.update(claimed_by=by, claimed_at=now):
        raise WrongState(_why_not_free(task, now))
    SetAside.objects.filter(user=by, task=task).delete()  # being on it is the end of “not now”


def _why_not_free(task: Task, now: datetime) -> str:
    if task.claimed_by:
        return _("%(name)s is on this task.") % {"name": task.claimed_by.display_name}
    return _("This task is not open: it is %(state)s.") % {"state": task.state_at(clock.at_least(now))}

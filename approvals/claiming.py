"""Claim and release: a courtesy that shows who is on a task, never a lock on deciding."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from approvals import audit, clock, locking, permissions
from approvals.models import Task, User
from approvals.models.people import Role
from approvals.refusals import NotAllowed, WrongState


@transaction.atomic
def claim(task: Task, *, by: User, now: datetime) -> None:
    """Show others that `by` is on it. Claiming what is yours already changes nothing.

    Raises NotAllowed, WrongState.
    """
    _case, task = locking.locked(task)
    by = locking.locked_person(by)
    if not permissions.can_claim(by, task):
        raise NotAllowed(_("Only reviewers of the queue “%(queue)s” claim its tasks.") % {"queue": task.queue.name})
    if task.claimed_by_id == by.pk:
        return
    free = Task.objects.open(clock.at_least(now)).filter(pk=task.pk, claimed_by__isnull=True)
    if not free.update(claimed_by=by, claimed_at=now):
        raise WrongState(_why_not_free(task, now))
    audit.record("task.claimed", f"{by.display_name} took {task.code}.", actor=by, task=task, now=now)


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


def _why_not_free(task: Task, now: datetime) -> str:
    if task.claimed_by:
        return _("%(name)s is on this task.") % {"name": task.claimed_by.display_name}
    return _("This task is not open: it is %(state)s.") % {"state": task.state_at(clock.at_least(now))}

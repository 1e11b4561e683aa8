"""Every deed on a case first locks the case, then the person: one order, so that no two deeds wait for each other.

The lock is the row on PostgreSQL; on SQLite the write lock, which BEGIN IMMEDIATE took. Rows are read after it.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from approvals import permissions
from approvals.models import Case, Task, User
from approvals.prepared import Prepared, slot
from approvals.refusals import Invalid, NotAllowed
from approvals.schemas import Problem

case_locked = Prepared(lambda: Case.objects.select_for_update(no_key=True).filter(pk=slot("pk")))
task_with_queue = Prepared(lambda: Task.objects.select_related("queue").filter(pk=slot("pk")))
person_locked = Prepared(lambda: User.objects.select_for_update(no_key=True).filter(pk=slot("pk"), is_active=True))


def locked_case(case: Case) -> Case:
    return case_locked.one(pk=case.pk)


def locked(task: Task) -> tuple[Case, Task]:
    """The case and the task as they are now; nobody else changes them until the transaction ends."""
    case = case_locked.one(pk=task.case_id)
    fresh = task_with_queue.one(pk=task.pk)
    fresh.case = case
    return case, fresh


def locked_person(person: User) -> User:
    """The person with the rights of this moment: role and queues are read anew, and changing them waits.

    Raises NotAllowed for someone who is gone or disabled.
    """
    fresh = person_locked.first(pk=person.pk)
    if fresh is None:
        raise NotAllowed(_("This account is disabled."))
    return fresh


def locked_operator(person: User, reason: str) -> User:
    """The person where only operators act, and only with a reason. Raises NotAllowed, Invalid."""
    fresh = locked_person(person)
    if sentence := permissions.may_operate(fresh):
        raise NotAllowed(sentence)
    if not reason.strip():
        raise Invalid([Problem("/reason", _("Say why: this needs a reason."))])
    return fresh

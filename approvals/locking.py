"""Every deed on a case first locks the case, then the person: one order, so that no two deeds wait for each other.

The lock is the row on PostgreSQL; on SQLite the write lock, which BEGIN IMMEDIATE took. Rows are read after it.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from approvals import permissions
from approvals.models import Case, Task, User
from approvals.refusals import Invalid, NotAllowed
from approvals.schemas import Problem


def locked_case(case: Case) -> Case:
    return Case.objects.select_for_update(no_key=True).get(pk=case.pk)


def locked(task: Task) -> tuple[Case, Task]:
    """The case and the task as they are now; nobody else changes them until the transaction ends."""
    case = Case.objects.select_for_update(no_key=True).get(pk=task.case_id)
    fresh = Task.objects.select_related("queue").get(pk=task.pk)
    fresh.case = case
    return case, fresh


def locked_person(person: User) -> User:
    """The person with the rights of this moment: role and queues are read anew, and changing them waits.

    Raises NotAllowed for someone who is gone or disabled.
    """
    fresh = User.objects.select_for_update(no_key=True).filter(pk=person.pk, is_active=True).first()
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

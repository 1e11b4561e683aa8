"""Who may see and do what: one source for rights and for buttons. The verbs ask again under lock.

Rights hang on the group of a person and on the members of a queue, and on nothing else: a superuser without a group
decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from approvals.kit import VerdictKit
from approvals.models import Case, Queue, Task, User
from approvals.models.cases import CaseQuerySet, TaskQuerySet, Verdict
from approvals.models.people import Role
from approvals.prepared import Prepared, slot

Visitor = User | AnonymousUser
Right = Callable[[User], str | None]  # None: they may; else the sentence why not
SEES_ALL = (Role.OPERATOR, Role.AUDITOR, Role.ADMIN)

task_of_code = Prepared(lambda: Task.objects.select_related("case", "queue").filter(code=slot("code")))


def role_of(user: Visitor) -> Role | None:
    """The person's role; visitors and disabled people have none."""
    return user.role if isinstance(user, User) and user.is_active else None


def sees_all(user: Visitor) -> bool:
    return role_of(user) in SEES_ALL


def visible_queues(user: Visitor) -> list[Queue]:
    if sees_all(user):
        return list(Queue.objects.order_by("name"))
    return user.own_queues if _reviews(user) else []


def visible_tasks(user: Visitor) -> TaskQuerySet:
    """The tasks of which this person may see everything."""
    if sees_all(user):
        return Task.objects.all()
    if _reviews(user):
        return Task.objects.filter(queue__in=user.queue_ids)
    return Task.objects.none()


def visible_task(user: Visitor, code: str) -> Task | None:
    """The task of this code, with its case and queue, if this person may see everything of it."""
    task = task_of_code.first(code=code)
    return task if task and can_see(user, task) else None


def can_see(user: Visitor, task: Task) -> bool:
    """Whether `visible_tasks` holds this one, without asking again."""
    return sees_all(user) or (_reviews(user) and _is_member(user, task))


def visible_cases(user: Visitor) -> CaseQuerySet:
    """Cases with any task of theirs; other queues' tasks in it are shown as code, queue and state only."""
    if sees_all(user):
        return Case.objects.all()
    if _reviews(user):
        return Case.objects.filter(Exists(Task.objects.filter(case=OuterRef("pk"), queue__in=user.queue_ids)))
    return Case.objects.none()


def can_claim(user: Visitor, task: Task) -> bool:
    return _reviews(user) and _is_member(user, task)


def may_operate(user: Visitor) -> str | None:
    """None when this person may settle what nobody can decide any more; else why not."""
    return None if role_of(user) == Role.OPERATOR else _("Only operators do this.")


def may_administer(user: Visitor) -> str | None:
    """None when this person looks after people, queues and agents; else why not."""
    return None if role_of(user) == Role.ADMIN else _("Only administrators do this.")


def may_tend(user: Visitor) -> str | None:
    """None when this person may look whether agents work and say how they are sent to; else why not."""
    return None if role_of(user) in (Role.ADMIN, Role.OPERATOR) else _("Only operators and administrators do this.")


def can_decide(user: Visitor, task: Task, verdict: str, kit: VerdictKit | None = None) -> str | None:
    """None when this person may give this verdict; else the sentence why not. Whether it is offered, the kit says."""
    role = role_of(user)
    if role == Role.OPERATOR:
        return (
            None if verdict == Verdict.CANCELLED else _("Operators cancel; approving and answering is for reviewers.")
        )
    if role != Role.REVIEWER:
        return _("Only reviewers of the queue decide.")
    if not _is_member(user, task):
        return _("Only reviewers of the queue “%(queue)s” decide here.") % {"queue": task.queue.name}
    if verdict == Verdict.CANCELLED and (kit or VerdictKit.from_json(task.kit)).cancel != "safe":
        return _("Only operators cancel here: it is not certain that this agent takes a cancel as a no.")
    return None


def caller_can_decide(task: Task, verdict: str) -> str | None:
    """The same for whoever asked, where that side may answer too: all but a cancel that is perhaps no no."""
    if verdict == Verdict.CANCELLED and VerdictKit.from_json(task.kit).cancel != "safe":
        return _("It is not certain that this agent takes a cancel as a no: only operators cancel here.")
    return None


def offered(user: Visitor, task: Task) -> tuple[list[str], dict[str, str], bool]:
    """The verdicts this person is offered, why not the others (the kit's reason first), and whether they may edit."""
    kit = VerdictKit.from_json(task.kit)
    why_not = {verdict: _(sentence) for verdict, sentence in kit.impossible.items()}
    for verdict in kit.forms:
        sentence = can_decide(user, task, verdict, kit)
        if sentence and verdict not in why_not:
            why_not[verdict] = sentence
    verdicts = [verdict for verdict in kit.forms if verdict not in why_not]
    return verdicts, why_not, kit.can_edit and Verdict.APPROVED in verdicts


def _reviews(user: Visitor) -> TypeGuard[User]:
    return role_of(user) == Role.REVIEWER


def _is_member(user: Visitor, task: Task) -> bool:
    return isinstance(user, User) and task.queue_id in user.queue_ids

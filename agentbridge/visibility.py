"""Who sees which agents and runs (`design.md` 4, People). What one may not see is 404."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from agentbridge.models import Agent, Incident, Interrupt, Resume, Run
from approvals import permissions
from approvals.models import Queue, Task, User
from approvals.models.people import Role


def own_queues(user: User) -> QuerySet[Queue]:
    """The queues of a reviewer; a person of any other role, or of none, has none to see by."""
    if permissions.role_of(user) != Role.REVIEWER:
        return Queue.objects.none()
    return Queue.objects.filter(members=user)


def agents(user: User) -> QuerySet[Agent]:
    """A reviewer sees an agent if its queue or one of its routes is theirs."""
    if permissions.sees_all(user):
        return Agent.objects.all()
    names = set(own_queues(user).values_list("name", flat=True))
    routed = [agent.pk for agent in Agent.objects.only("routes") if names.intersection(agent.routes.values())]
    return Agent.objects.filter(Q(queue__name__in=names) | Q(pk__in=routed))


def runs(user: User) -> QuerySet[Run]:
    """A reviewer sees a run if a task of it is theirs (without any: the agent's queue) and none is another queue's.

    The tasks of a run are those it asked and those it carries the answers of.
    """
    if permissions.sees_all(user):
        return Run.objects.all()
    queues = own_queues(user).values("pk")
    asked = Interrupt.objects.filter(run=OuterRef("pk"), task__isnull=False)
    carried = Task.objects.filter(case__resumes=OuterRef("resume"))
    mine = Exists(asked.filter(task__queue__in=queues)) | Exists(carried.filter(queue__in=queues))
    foreign = Exists(asked.exclude(task__queue__in=queues)) | Exists(carried.exclude(queue__in=queues))
    without = Q(thread__agent__queue__in=queues) & ~Exists(asked) & ~Exists(carried)
    return Run.objects.filter(Q(mine) | without).exclude(foreign)


def deliveries(user: User) -> QuerySet[Resume]:
    return Resume.objects.filter(case__in=permissions.visible_cases(user).values("pk"))


def incidents(user: User) -> QuerySet[Incident]:
    """Of one's own tasks; those on no task, where no task of the case is another queue's."""
    if permissions.sees_all(user):
        return Incident.objects.all()
    own = permissions.visible_tasks(user).values("pk")
    foreign = Task.objects.filter(case=OuterRef("case")).exclude(pk__in=own)
    whole = Q(task__isnull=True, case__in=permissions.visible_cases(user).values("pk")) & ~Exists(foreign)
    return Incident.objects.filter(Q(task__in=own) | whole)

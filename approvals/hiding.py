"""Which values are hidden where, and who was shown them: rules of queues and agents, and the verb that lifts them.

What is hidden is hidden on pages and in lists. Whoever may decide may see it, on their word why, and the trail keeps
that they did.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from approvals import audit, masking, permissions
from approvals.masking import Rules
from approvals.models import Case, MaskRule, Queue, Task, User
from approvals.models.people import Role
from approvals.refusals import Invalid, NotAllowed
from approvals.schemas import Problem

MOST_REASON = 500

audit.register("values.shown", "mask.changed")


def rules_for(queues: Iterable[int], agent: str) -> Rules:
    """The rules that hold for an agent's questions in these queues."""
    own = MaskRule.objects.filter(Q(queue__isnull=True) | Q(queue__in=list(queues)), agent__in=["", agent])
    found = list(own.order_by("pk").values_list("by_name", "by_looks"))
    return masking.installed() + Rules(
        tuple(name for name, _looks in found if name), tuple(looks for _name, looks in found if looks)
    )


def may_show(user: User) -> str | None:
    """None when this person may be shown what is hidden in a case they see; else why not."""
    if permissions.role_of(user) in (Role.REVIEWER, Role.AUDITOR):
        return None
    return _("Only reviewers of the queue and auditors are shown hidden values.")


@transaction.atomic
def show(case: Case, tasks: Iterable[tuple[Task, list[str]]], *, by: User, reason: str, now: datetime) -> None:
    """Record that a person is shown what is hidden in these tasks. Raises NotAllowed and Invalid."""
    if why_not := may_show(by):
        raise NotAllowed(why_not)
    reason = reason.strip()
    if not reason or len(reason) > MOST_REASON:
        raise Invalid([Problem("/reason", _("Say in up to %d characters what for.") % MOST_REASON)])
    for task, places in tasks:
        if places:
            said = f"{by.display_name} was shown {len(places)} hidden {'value' if len(places) == 1 else 'values'}."
            audit.record("values.shown", said, actor=by, task=task, data={"places": places, "reason": reason}, now=now)


@transaction.atomic
def set_rule(
    *, name: str = "", looks: str = "", queue: Queue | None = None, agent: str = "", remove: bool = False, now: datetime
) -> None:
    """Add or take away one rule of a queue, an agent or everywhere."""
    told: dict[str, Any] = {"queue": queue, "agent": agent, "by_name": name, "by_looks": looks}
    rules = MaskRule.objects.filter(**told) if queue else MaskRule.objects.filter(**{**told, "queue": None})
    changed = rules.delete()[0] if remove else int(MaskRule.objects.get_or_create(**told)[1])
    if changed:
        where = f"queue {queue.name}" if queue else f"agent {agent}" if agent else "every queue"
        said = f"Values {'are no longer' if remove else 'are'} hidden in {where}."
        data = {"queue": queue.name if queue else None, "agent": agent or None, "name": name, "looks": looks}
        audit.record("mask.changed", said, data={**data, "removed": remove}, now=now)

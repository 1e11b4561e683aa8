"""Which values are hidden where, and who was shown them: rules of queues and agents, and the verb that lifts them.

What is hidden is hidden on pages and in lists. Whoever may decide may see it, on their word why, and the trail keeps
that they did.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, Subquery
from django.utils.translation import gettext as _

from approvals import audit, permissions
from approvals.exhibits import Content
from approvals.foreign import masking
from approvals.foreign.masking import Rules
from approvals.models import Case, MaskRule, Queue, Task, User
from approvals.models.cases import TaskQuerySet
from approvals.models.people import Role
from approvals.prepared import Prepared
from approvals.refusals import Invalid, NotAllowed
from approvals.schemas import Problem

MOST_REASON = 500

all_rules = Prepared(lambda: MaskRule.objects.order_by("pk").values_list("queue", "agent", "by_name", "by_looks"))

audit.register("values.shown", "mask.changed")


def rules_for(queue: Queue, agent: str) -> Rules:
    """The rules that hold for an agent's questions in a queue."""
    rules = MaskRule.objects.filter(Q(queue__isnull=True) | Q(queue=queue), agent__in=["", agent]).order_by("pk")
    return _with_installed(rules.values_list("by_name", "by_looks"))


def rules_of_case(code: str) -> Rules:
    """The rules of all queues that a case, or the case of a task, has tasks in: its page hides by all of them."""
    kept = all_rules.rows()
    if any(queue or agent for queue, agent, _name, _looks in kept):  # else the case need not be looked at
        asked = set(tasks_beside(code).values_list("queue", "agent"))
        queues, agents = {None, *(queue for queue, _agent in asked)}, {"", *(agent for _queue, agent in asked)}
        kept = [rule for rule in kept if rule[0] in queues and rule[1] in agents]
    return _with_installed((name, looks) for _queue, _agent, name, looks in kept)


def tasks_beside(code: str) -> TaskQuerySet:
    """All tasks of a case, by its code or that of any of them."""
    # The task's case as one value: joined, or as a list, it would be looked for in all cases.
    case_of_task = Subquery(Task.objects.filter(code=code).values("case")[:1])
    return Task.objects.filter(case__in=Case.objects.filter(Q(code=code) | Q(pk=case_of_task)))


def _with_installed(kept: Iterable[tuple[str, str]]) -> Rules:
    rules = list(kept)
    return masking.installed() + Rules(
        tuple(name for name, _looks in rules if name), tuple(looks for _name, looks in rules if looks)
    )


def without_secrets(exhibit: Content) -> Content:
    """What lists and search may keep of a question."""
    tool = exhibit.tool and replace(exhibit.tool, args_text=masking.masked_text(masking.masked(exhibit.tool.args_text)))
    return replace(exhibit, tool=tool, message=exhibit.message and masking.masked_text(exhibit.message))


def places(exhibit: Content) -> list[str]:
    """What is hidden in a question, by the rules of its page: pointers, each behind the part it stands in."""
    rules = masking.scope()
    parts = {"args": exhibit.tool.args_text if exhibit.tool else None, "state": exhibit.state,
             "metadata": exhibit.metadata, "tool": exhibit.tool_definition}  # fmt: skip
    given = {name: text for name, text in parts.items() if text}
    found = [f"{name}{place}" for name, text in given.items() for place in masking.hide(text, rules).places]
    found += ["message"] * bool(rules.spans(exhibit.message or ""))
    for at, text in enumerate(exhibit.messages):
        found += [f"messages/{at}{place}" for place in masking.hide(text, rules).places]
    return found


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
    *, name: str = "", looks: str = "", queue: Queue | None = None, agent: str = "", remove: bool = False,
    by: User | None = None, because: str = "", now: datetime,
) -> None:  # fmt: skip
    """Add or take away one rule of a queue, an agent or everywhere."""
    told: dict[str, Any] = {"queue": queue, "agent": agent, "by_name": name, "by_looks": looks}
    rules = MaskRule.objects.filter(**told) if queue else MaskRule.objects.filter(**{**told, "queue": None})
    changed = rules.delete()[0] if remove else int(MaskRule.objects.get_or_create(**told)[1])
    if changed:
        where = f"queue {queue.name}" if queue else f"agent {agent}" if agent else "every queue"
        said = f"Values {'are no longer' if remove else 'are'} hidden in {where}."
        data: dict[str, Any] = {
            "queue": queue.name if queue else None, "agent": agent or None, "name": name, "looks": looks,
        }  # fmt: skip
        data |= {"removed": remove, "reason": because or None}
        audit.record("mask.changed", said, actor=by, data=data, now=now)

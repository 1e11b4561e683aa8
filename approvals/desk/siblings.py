"""What makes a task differ from those like it: the other calls of its case, and what was decided before. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from approvals import exhibits, jsontext, permissions
from approvals.exhibits import Content
from approvals.foreign import diff
from approvals.models import Decision, Exhibit, Task, User
from approvals.models.cases import State
from approvals.verbs import reasons

PRECEDENTS = 5
LOOKED_BACK = 20_000  # tasks: a tool that is rarely used must not make the page read all that ever was
Call = tuple[str | None, dict[str, str]]  # the tool, None without one, and the text of each argument


@dataclass(frozen=True, kw_only=True)
class Differing:
    """Where a call differs from the others of its case that use the same tool."""

    others: int
    differs: Sequence[tuple[str, str, str]]  # name, pointer, exact text of the value here; "" where it is not there
    same: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Precedent:
    """The same tool, decided before in a queue that this person sees."""

    task: Task
    decision: Decision
    reason: str  # in the queue's words; "" where none was picked
    changes: Sequence[diff.Change]  # from what was proposed then to what is proposed now
    results: Sequence[dict[str, Any]] | None


def compared(contents: Sequence[Content]) -> list[Differing | None]:
    """For each call of a set; None where there is nothing like it."""
    calls = [_call(content) for content in contents]
    return [_differing(call, [*calls[:place], *calls[place + 1 :]]) for place, call in enumerate(calls)]


def beside(content: Content, others: Sequence[Content]) -> Differing | None:
    """For one call and others; None where there is nothing like it."""
    return _differing(_call(content), [_call(other) for other in others])


def _call(content: Content) -> Call:
    tool = content.tool.name if content.tool else None
    return tool, dict(jsontext.members(content.proposal)) if content.proposal is not None else {}


def _differing(call: Call, others: Sequence[Call]) -> Differing | None:
    tool, own = call
    alike = [members for name, members in others if name is not None and name == tool]
    if not alike:
        return None
    names = list(dict.fromkeys([*own, *(name for other in alike for name in other)]))
    differs = [name for name in names if any(other.get(name) != own.get(name) for other in alike)]
    return Differing(
        others=len(alike),
        differs=[(name, jsontext.pointer(name), own.get(name, "")) for name in differs],
        same=[name for name in names if name not in differs],
    )


def precedents(user: User, task: Task, shown: Content) -> list[Precedent]:
    """The newest decided tasks of the same tool and queue, with what became of them."""
    if not task.tool:
        return []
    before = permissions.visible_tasks(user).filter(queue=task.queue_id, tool=task.tool, state=State.SETTLED)
    near = before.filter(pk__lt=task.pk, pk__gt=task.pk - LOOKED_BACK).exclude(case=task.case_id)
    tasks = list(near.select_related("case", "queue").order_by("-pk")[:PRECEDENTS])
    live = Decision.objects.live().filter(task__in=tasks).select_related("by")
    decisions = {decision.task_id: decision for decision in live}
    bodies = _decided_on(decisions)
    return [_precedent(one, decisions[one.pk], bodies, shown) for one in tasks if one.pk in decisions]


def _decided_on(decisions: dict[int, Decision]) -> dict[tuple[int, str], str]:
    rows = Exhibit.objects.filter(task__in=list(decisions)).values_list("task_id", "digest", "body")
    return {(task, digest): body for task, digest, body in rows}


def _precedent(task: Task, decision: Decision, bodies: dict[tuple[int, str], str], shown: Content) -> Precedent:
    then = exhibits.load(bodies[task.pk, decision.shown_digest])
    both = then.proposal is not None and shown.proposal is not None
    changes = diff.argument_diff(then.proposal or "{}", shown.proposal or "{}") if both else []
    results = None if task.results is None else jsontext.loads(task.results)
    reason = reasons.words(task.queue, decision.reason_code) if decision.reason_code else ""
    return Precedent(task=task, decision=decision, reason=reason, changes=changes, results=results)

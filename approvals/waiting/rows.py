"""A line of the queue as one person sees it, lines that belong together, and what differs between them.

A template gets these and asks no questions of its own. Only `decided` reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.utils.translation import gettext as _

from approvals import headlines
from approvals.desk import remaining, unusual
from approvals.foreign import masking
from approvals.models import Decision, Task, User
from approvals.models.cases import State
from approvals.verbs import batch, claiming
from approvals.waiting.filters import Filters
from approvals.waiting.selecting import may_claim


@dataclass(frozen=True, slots=True)
class Row:
    """`decision`: the live one of a line that is not open."""

    task: Task
    state: str
    asked: str  # how long ago, in words
    mine: bool
    stale: bool  # who is on it said so long ago
    may_claim: bool
    may_take_over: bool
    may_set_aside: bool
    in_list: bool  # can be chosen for a list
    is_aside: bool  # set aside, and its time has not come
    is_back: bool  # was set aside until now
    is_gone: bool  # not open any more, kept in its place
    decision: Decision | None = None
    stands_out: frozenset[str] = frozenset()  # names of arguments that are not as in the lines beside it

    @property
    def parts(self) -> list[headlines.Part]:
        """The arguments of the line, without what is hidden."""
        found = headlines.parts(self.task.headline)
        return [part._replace(value=masking.masked_value(part.name, part.value)) for part in found]

    @property
    def verdict(self) -> str:
        """What was decided, as `desk.states` names it."""
        decision = self.decision
        return ("edited" if decision.edits is not None else decision.verdict) if decision else ""

    @property
    def may_release(self) -> bool:
        return self.mine and not self.is_gone


def row(user: User, task: Task, *, now: datetime, decision: Decision | None = None, kept: bool = False) -> Row:
    """`kept`: the line stands on an open page; when the task is not open any more, it says what became of it."""
    state = task.state_at(now)
    is_open, mine = state == State.OPEN, task.claimed_by_id == user.pk
    stale = bool(task.claimed_at and task.claimed_at <= now - claiming.STALE)
    reviews = is_open and may_claim(user, task)
    held = task.claimed_by_id is not None and not mine
    until = getattr(task, "aside_until", None)
    return Row(
        task=task,
        state=state,
        asked=_asked(task, now),
        mine=mine,
        stale=stale and held,
        may_claim=reviews and (task.claimed_by_id is None or (held and stale)),
        may_take_over=reviews and held and not stale,
        may_set_aside=reviews,
        in_list=reviews and bool(task.tool) and batch.why_not(task) is None,
        is_aside=is_open and until is not None and until > now,
        is_back=is_open and until is not None and until <= now,
        is_gone=kept and not is_open,
        decision=decision,
    )


def _asked(task: Task, now: datetime) -> str:
    seconds = int((now - task.case.opened_at).total_seconds())
    return _("asked %(age)s ago") % {"age": remaining.words(seconds)} if seconds >= 60 else _("asked just now")


@dataclass(frozen=True, slots=True)
class Group:
    """Lines of this page that belong together. `query`: the address of all of them, on this page or not."""

    kind: str  # "", "tool", "agent" or "thread"
    name: str
    rows: list[Row]
    query: str = ""
    same: list[headlines.Part] = field(default_factory=list)  # arguments that are the same in every line

    @property
    def codes(self) -> list[str]:
        return [one.task.code for one in self.rows if not one.is_gone and one.task.tool]

    @property
    def out(self) -> int:
        return sum(bool(one.stands_out) for one in self.rows)


def grouped(rows: Sequence[Row], filters: Filters) -> list[Group]:
    """In the order of their first lines; a line alone needs no heading, and lines without one stand together."""
    if not filters.group:
        return [Group("", "", list(rows))]
    found: dict[tuple[str, str], list[Row]] = {}
    for one in rows:
        found.setdefault(_key(one.task, filters.group), []).append(one)
    groups: list[Group] = []
    for lines in found.values():
        if len(lines) > 1:
            groups.append(_group(filters, lines))
        elif groups and not groups[-1].kind:
            groups[-1].rows.extend(lines)
        else:
            groups.append(Group("", "", lines))
    return groups


def _key(task: Task, kind: str) -> tuple[str, str]:
    if kind == "thread":
        return task.agent, task.thread_key
    return task.agent, task.tool if kind == "tool" else ""


def _group(filters: Filters, rows: list[Row]) -> Group:
    first = rows[0].task
    query = filters.query(**{"group": "", "agent": first.agent, filters.group: _value(first, filters.group)})
    name = first.tool if filters.group == "tool" else first.agent_name or first.agent
    if len({(one.task.agent, one.task.tool) for one in rows}) > 1:
        return Group(filters.group, name, rows, query)
    same, rows = compared(rows)
    return Group(filters.group, name, rows, query, same)


def _value(task: Task, kind: str) -> str:
    return {"tool": task.tool, "agent": task.agent, "thread": task.thread_key}[kind]


def compared(rows: list[Row]) -> tuple[list[headlines.Part], list[Row]]:
    """What is the same in all lines of one tool, and the lines with what stands out in each."""
    values = [{part.name: part.value for part in one.parts if part.name} for one in rows]
    same, out = [], [set[str]() for _one in rows]
    for name in values[0]:
        column = [line.get(name) for line in values]
        if len(set(column)) == 1:
            same.append(headlines.Part(name, column[0] or ""))
        for place in unusual.places(column):
            out[place].add(name)
    return same, [replace(one, stands_out=frozenset(names)) for one, names in zip(rows, out, strict=True)]


def decided(tasks: Iterable[Task]) -> dict[int, Decision]:
    """The live decisions of lines that are not open, by task."""
    live = Decision.objects.live().filter(task__in=list(tasks)).select_related("by")
    return {decision.task_id: decision for decision in live.order_by("pk")}

"""A line of the queue as one person sees it, lines that belong together, and what differs between them.

A template gets these and asks no questions of its own. Only `decided` reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from approvals import batch, claiming, headlines
from approvals.models import Decision, Task, User
from approvals.models.cases import State
from approvals.waiting.filters import Filters
from approvals.waiting.selecting import may_claim

ALIKE = 0.6  # of the lines must agree in a value before another one stands out


@dataclass(frozen=True, slots=True)
class Row:
    """`decision`: of a line that has been decided meanwhile."""

    task: Task
    state: str
    mine: bool
    stale: bool  # who is on it said so long ago
    may_claim: bool
    may_take_over: bool
    may_set_aside: bool
    in_list: bool  # can be chosen for a list
    is_back: bool  # was set aside until now
    is_gone: bool  # not open any more, kept in its place
    decision: Decision | None = None
    stands_out: frozenset[str] = frozenset()  # names of arguments that are not as in the lines beside it

    @property
    def parts(self) -> list[headlines.Part]:
        return headlines.parts(self.task.headline)

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
        mine=mine,
        stale=stale and held,
        may_claim=reviews and (task.claimed_by_id is None or (held and stale)),
        may_take_over=reviews and held and not stale,
        may_set_aside=reviews,
        in_list=reviews and bool(task.tool) and batch.why_not(task) is None,
        is_back=is_open and until is not None and until <= now,
        is_gone=kept and not is_open,
        decision=decision,
    )


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
        return [one.task.code for one in self.rows if not one.is_gone and one.task.tool][: batch.MOST]

    @property
    def out(self) -> int:
        return sum(bool(one.stands_out) for one in self.rows)


def grouped(rows: Sequence[Row], filters: Filters) -> list[Group]:
    """In the order of their first lines; without a grouping one group of all."""
    if not filters.group:
        return [Group("", "", list(rows))]
    found: dict[tuple[str, str], list[Row]] = {}
    for one in rows:
        found.setdefault(_key(one.task, filters.group), []).append(one)
    return [_group(filters, lines) for lines in found.values()]


def _key(task: Task, kind: str) -> tuple[str, str]:
    if kind == "thread":
        return task.agent, task.thread_key
    return task.agent, task.tool if kind == "tool" else ""


def _group(filters: Filters, rows: list[Row]) -> Group:
    first = rows[0].task
    query = filters.query(group="", agent=first.agent, **({filters.group: _value(first, filters.group)}))
    name = first.tool if filters.group == "tool" else first.agent_name or first.agent
    if len({(one.task.agent, one.task.tool) for one in rows}) > 1 or len(rows) < 2:
        return Group(filters.group, name, rows, query)
    same, rows = compared(rows)
    return Group(filters.group, name, rows, query, same)


def _value(task: Task, kind: str) -> str:
    return {"tool": task.tool, "agent": task.agent, "thread": task.thread_key}[kind]


def compared(rows: list[Row]) -> tuple[list[headlines.Part], list[Row]]:
    """What is the same in all lines of one tool, and the lines with what stands out in each."""
    values = [{part.name: part.value for part in one.parts if part.name} for one in rows]
    usual, same = {}, []
    for name in values[0]:
        said = Counter(line.get(name) for line in values)
        value, times = said.most_common(1)[0]
        if times == len(rows):
            same.append(headlines.Part(name, value or ""))
        elif times >= max(2, ALIKE * len(rows)):
            usual[name] = value
    marked = []
    for one, line in zip(rows, values, strict=True):
        out = frozenset(name for name, value in usual.items() if line.get(name) != value)
        marked.append(replace(one, stands_out=out))
    return same, marked


def decided(tasks: Iterable[Task]) -> dict[int, Decision]:
    """The live decisions of lines that are kept, by task."""
    live = Decision.objects.live().filter(task__in=list(tasks)).select_related("by")
    return {decision.task_id: decision for decision in live.order_by("pk")}

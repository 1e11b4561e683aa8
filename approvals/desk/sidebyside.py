"""Several tasks side by side: their arguments in one table, what is equal said once, what differs marked. Reads only.

This is also what a list is decided on (`approvals.verbs.batch`), so nothing of a set of equal calls is cut: what is too
long to be shown whole is decided on its own page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from approvals import exhibits, jsontext, permissions, sentences
from approvals.desk import unusual
from approvals.exhibits import Content
from approvals.foreign import hiding, masking
from approvals.models import Exhibit, Task, User
from approvals.models.cases import State, Verdict
from approvals.verbs import batch

MOST_COLUMNS = 8
LONGEST = 400  # characters of one value in the table
CUT = "…"


@dataclass(frozen=True, slots=True)
class Cell:
    name: str
    text: str | None  # None: this task has no such argument
    whole: bool
    stands_out: bool


@dataclass(frozen=True, slots=True)
class Line:
    task: Task
    arguments: dict[str, str]  # by name, without what is hidden
    state: str
    call: str  # equal for equal calls
    cells: list[Cell]
    why_not: str | None  # why this task cannot be decided in a list by this person

    @property
    def out(self) -> int:
        return sum(cell.stands_out for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Equal:
    """Tasks that ask for the very same call: what may be approved together."""

    lines: list[Line]
    arguments: list[tuple[str, str]]  # all of them, whole
    is_whole: bool

    @property
    def may_approve(self) -> bool:
        return self.is_whole and len(self.lines) > 1


@dataclass(frozen=True, slots=True)
class Table:
    """The tasks of a queue that ask for one tool of one agent."""

    lines: list[Line]
    same: list[tuple[str, str]]
    names: list[str]  # of the columns: arguments that differ
    more: int  # arguments that differ and have no column


@dataclass(frozen=True, slots=True)
class Beside:
    """All that stands side by side, a table for each tool."""

    tables: list[Table]

    @property
    def lines(self) -> list[Line]:
        return [line for table in self.tables for line in table.lines]

    @property
    def open_lines(self) -> list[Line]:
        return [line for line in self.lines if line.why_not is None]

    @property
    def equal(self) -> list[Equal]:
        """The sets of equal calls that this person may decide, the largest first."""
        sets: dict[tuple[str, str], list[Line]] = {}
        for line in self.open_lines:
            sets.setdefault((line.task.agent, line.call), []).append(line)
        found = sorted(sets.values(), key=len, reverse=True)
        return [_equal(lines) for lines in found if len(lines) > 1]

    @property
    def is_one_set(self) -> bool:
        """Whether all that can be decided is one set of equal calls: then there is no other list to offer."""
        return len(self.open_lines) < 2 or (len(self.equal) == 1 and len(self.equal[0].lines) == len(self.open_lines))


def read(user: User, codes: Sequence[str], *, now: datetime) -> Beside:
    """The tasks of these codes that this person may see, in the order of the codes; in two queries and one a table."""
    wanted = list(dict.fromkeys(codes))[: batch.MOST]
    tasks = permissions.visible_tasks(user).filter(code__in=wanted).select_related("case", "queue")
    found = sorted(tasks, key=lambda task: wanted.index(task.code))
    shown = Exhibit.objects.filter(task__in=found).values_list("task_id", "digest", "body")
    bodies = {(task, digest): body for task, digest, body in shown}
    tools: dict[tuple[int, str, str], list[tuple[Task, Content]]] = {}
    for task in found:
        content = exhibits.load(bodies[task.pk, task.shown_digest])
        tools.setdefault((task.queue_id, task.agent, task.tool), []).append((task, content))
    return Beside([_table(user, asked, now) for asked in tools.values()])


def _table(user: User, asked: list[tuple[Task, Content]], now: datetime) -> Table:
    with masking.applying(hiding.rules_for(asked[0][0].queue, asked[0][0].agent)):
        arguments = [_arguments(hiding.without_secrets(content)) for _task, content in asked]
    same, names, more = _columns(arguments)
    out = {name: unusual.places([given.get(name) for given in arguments]) for name in names}
    lines = [
        Line(
            task=task,
            arguments=arguments[place],
            state=task.state_at(now),
            call=batch.same_call(content),
            cells=[_cell(name, arguments[place].get(name), place in out[name]) for name in names],
            why_not=_why_not(user, task, content, now),
        )
        for place, (task, content) in enumerate(asked)
    ]
    return Table(lines, same, names, more)


def _arguments(content: Content) -> dict[str, str]:
    """Name and text of each argument; strings without their quotes, all else as it was written."""
    if content.proposal is None:
        return {"": content.message or content.reason}
    try:
        document = jsontext.parse(content.proposal)
    except jsontext.JSONTextError:
        return {"": content.proposal}
    members = document.root.members if document.root.kind == "object" else ()
    if not members or len(dict(members)) < len(members):  # a name that stands there twice must not hide one
        return {"": content.proposal}
    return {name: node.text if node.kind == "string" else document.source(node) for name, node in members}


def _columns(arguments: Sequence[dict[str, str]]) -> tuple[list[tuple[str, str]], list[str], int]:
    names = list(dict.fromkeys(name for given in arguments for name in given))
    same = [name for name in names if len({given.get(name) for given in arguments}) == 1]
    differ = [name for name in names if name not in same]
    return [(name, arguments[0][name]) for name in same], differ[:MOST_COLUMNS], len(differ[MOST_COLUMNS:])


def _cell(name: str, text: str | None, stands_out: bool) -> Cell:
    whole = text is None or len(text) <= LONGEST
    return Cell(name, text if text is None or whole else text[: LONGEST - 1] + CUT, whole, stands_out)


def _equal(lines: list[Line]) -> Equal:
    arguments = list(lines[0].arguments.items())
    return Equal(lines, arguments, all(len(text) <= LONGEST for _name, text in arguments))


def _why_not(user: User, task: Task, content: Content, now: datetime) -> str | None:
    if task.state_at(now) != State.OPEN:
        return _("Not open any more.")
    if task.case.blocked:
        return sentences.told(task.case.blocked)
    if content.proposal is None:
        return _("Not a call with readable arguments: answered on its own page.")
    return batch.why_not(task) or permissions.can_decide(user, task, Verdict.REJECTED)

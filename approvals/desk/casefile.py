"""A case as one person may see it: its tasks as panels, where it stands, and what is around it.

Reads only, in a fixed number of queries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.urls import reverse

from approvals import permissions, waiting
from approvals.desk import answersheet, longcase
from approvals.desk.longcase import LongCase
from approvals.desk.panels import Closed, Earlier, Panel, Reader
from approvals.models import Case, Queue, Task, User
from approvals.models.cases import State

__all__ = ["CaseFile", "Closed", "Earlier", "Panel", "address", "next_in_queue", "panel", "read", "with_sheets"]


@dataclass(frozen=True, kw_only=True)
class CaseFile:
    """Everything that the page of one case draws."""

    case: Case
    state: str
    cursor: int  # of the trail, read before all else: what happens meanwhile is told again rather than missed
    parts: list[Panel | Closed]  # the tasks that are drawn: all of them, or the one of a long case
    long: LongCase | None = None
    previous: Case | None = None
    nexts: list[Case] = field(default_factory=list)

    @property
    def panels(self) -> list[Panel]:
        return [part for part in self.parts if isinstance(part, Panel)]

    @property
    def total(self) -> int:
        return self.long.total if self.long else len(self.parts)

    @property
    def agent(self) -> str:
        return self.long.agent if self.long else self.panels[0].exhibit.agent_name

    @property
    def only(self) -> Panel | None:
        """The one task of a case that asks one thing."""
        return self.panels[0] if self.total == 1 else None

    @property
    def decided(self) -> int:
        return self.long.decided if self.long else sum(part.task.state == State.SETTLED for part in self.parts)

    @property
    def is_open(self) -> bool:
        return self.state == State.OPEN

    @property
    def is_waiting_to_leave(self) -> bool:
        """Settled and inside the undo window: decisions can still be taken back."""
        return self.state == State.SETTLED and self.case.taken_at is None

    @property
    def verdict_counts(self) -> list[tuple[str, int]]:
        if self.long:
            return self.long.verdict_counts
        return list(Counter(panel.decision.verdict for panel in self.panels if panel.decision).items())

    @property
    def queues(self) -> list[Queue]:
        return self.long.queues if self.long else list(dict.fromkeys(part.task.queue for part in self.parts))

    @property
    def is_high_risk(self) -> bool:
        if self.long:
            return self.long.is_high_risk
        return any(panel.task.queue.risk == "high" for panel in self.panels)

    @property
    def waits(self) -> bool:
        """Whether any task of this case, drawn or not, waits for this person."""
        return self.next_open is not None or (self.long is not None and self.long.waiting is not None)

    @property
    def next_open(self) -> Panel | None:
        """The next task of this case that waits for this person."""
        return next((panel for panel in self.panels if panel.waits), None)


def read(user: User, code: str, *, on: str = "", listed_from: int = 0, now: datetime) -> CaseFile | None:
    """The file of a case, or None for one that this person may not see.

    `on`, `listed_from`: of a long case, the task that is drawn and the page of the list beside it.
    """
    cursor = waiting.newest_seq()
    case = permissions.visible_cases(user).select_related("previous").filter(code=code).first()
    if case is None:
        return None
    seen = permissions.visible_cases(user)
    parts, long = _parts(user, case, on, listed_from, now)
    return CaseFile(
        case=case,
        state=case.state_at(now),
        cursor=cursor,
        parts=parts,
        long=long,
        previous=seen.filter(pk=case.previous_id).first() if case.previous_id else None,
        nexts=list(seen.filter(previous=case).order_by("pk")),
    )


def _parts(
    user: User, case: Case, on: str, listed_from: int, now: datetime
) -> tuple[list[Panel | Closed], LongCase | None]:
    tasks = list(case.tasks.select_related("queue", "claimed_by").order_by("position")[: longcase.MOST_WHOLE + 1])
    if len(tasks) <= longcase.MOST_WHOLE:
        return Reader(user, case, tasks, now).parts(), None
    task = longcase.shown_task(user, case, on, now=now)
    part = Reader(user, case, [task], now).parts()[0]
    if isinstance(part, Panel):
        part = Panel(**{**_fields(part), "differing": longcase.differing(user, task, part.exhibit)})
    return [part], longcase.around(user, case, task, listed_from=listed_from, now=now)


def panel(user: User, task: Task, *, now: datetime) -> Panel:
    """One task that this person sees, for a deed: without the case around it, its notes and what was typed before."""
    parts = Reader(user, task.case, [task], now, drawn=False).parts()
    return next(part for part in parts if isinstance(part, Panel))


def with_sheets(
    file: CaseFile, *, posted: Mapping[str, str] | None = None, on: str = "", problems: list[Any] | None = None,
    second_look: answersheet.SecondLook | None = None,
) -> CaseFile:  # fmt: skip
    """The same file with a form on every task that can be decided; the one on task `on` as it was posted."""
    parts: list[Panel | Closed] = []
    for part in file.parts:
        if isinstance(part, Panel) and part.waits:
            is_posted = part.task.code == on and posted is not None
            sheet = part.blank().sheet(posted, problems, second_look=second_look) if is_posted else part.filled()
            part = Panel(**{**_fields(part), "sheet": sheet})
        parts.append(part)
    return CaseFile(**{**_fields(file), "parts": parts})


def address(case: Case, task: str, *, part: str = "task") -> str:
    """The page of a case at one of its tasks, named twice: a long case opens it, any other only scrolls to it.

    `task`: "" for none. `part`: "task" or, for the keyboard to stand there, its "head"; "" for the top of the page.
    """
    page = reverse("case", args=[case.code])
    return f"{page}?task={task}" + (f"#{part}-{task}" if part else "") if task else page


def next_in_queue(user: User, *, beside: Case, now: datetime) -> Task | None:
    """What waits for this person elsewhere, in the order of the queue; what they set aside does not."""
    return waiting.following(user, beside=beside, now=now)


def _fields(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__dataclass_fields__}

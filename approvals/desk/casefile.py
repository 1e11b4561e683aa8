"""A case as one person may see it: its tasks as panels, where it stands, and what is around it.

Reads only, in a fixed number of queries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from approvals import permissions, waiting
from approvals.desk import answersheet
from approvals.desk.panels import Closed, Earlier, Panel, Reader
from approvals.models import Case, Queue, Task, User
from approvals.models.cases import State

__all__ = ["CaseFile", "Closed", "Earlier", "Panel", "next_in_queue", "read", "with_sheets"]


@dataclass(frozen=True, kw_only=True)
class CaseFile:
    """Everything that the page of one case draws."""

    case: Case
    state: str
    cursor: int  # of the trail, read before all else: what happens meanwhile is told again rather than missed
    parts: list[Panel | Closed]
    previous: Case | None = None
    nexts: list[Case] = field(default_factory=list)

    @property
    def panels(self) -> list[Panel]:
        return [part for part in self.parts if isinstance(part, Panel)]

    @property
    def agent(self) -> str:
        return self.panels[0].exhibit.agent_name

    @property
    def only(self) -> Panel | None:
        """The one task of a case that asks one thing."""
        return self.panels[0] if len(self.parts) == 1 else None

    @property
    def decided(self) -> int:
        return sum(part.task.state == State.SETTLED for part in self.parts)

    @property
    def is_open(self) -> bool:
        return self.state == State.OPEN

    @property
    def is_waiting_to_leave(self) -> bool:
        """Settled and inside the undo window: decisions can still be taken back."""
        return self.state == State.SETTLED and self.case.taken_at is None

    @property
    def verdict_counts(self) -> list[tuple[str, int]]:
        return list(Counter(panel.decision.verdict for panel in self.panels if panel.decision).items())

    @property
    def queues(self) -> list[Queue]:
        return list(dict.fromkeys(part.task.queue for part in self.parts))

    @property
    def is_high_risk(self) -> bool:
        return any(panel.task.queue.risk == "high" for panel in self.panels)

    @property
    def next_open(self) -> Panel | None:
        """The next task of this case that waits for this person."""
        return next((panel for panel in self.panels if panel.sheet), None)


def read(user: User, code: str, *, now: datetime) -> CaseFile | None:
    """The file of a case, or None for one that this person may not see."""
    cursor = waiting.newest_seq()
    case = permissions.visible_cases(user).select_related("previous").filter(code=code).first()
    if case is None:
        return None
    seen = permissions.visible_cases(user)
    return CaseFile(
        case=case,
        state=case.state_at(now),
        cursor=cursor,
        parts=Reader(user, case, now).parts(),
        previous=seen.filter(pk=case.previous_id).first() if case.previous_id else None,
        nexts=list(seen.filter(previous=case).order_by("pk")),
    )


def with_sheets(
    file: CaseFile, *, posted: Mapping[str, str] | None = None, on: str = "", problems: list[Any] | None = None,
    second_look: answersheet.SecondLook | None = None,
) -> CaseFile:  # fmt: skip
    """The same file with a form on every task that can be decided; the one on task `on` as it was posted."""
    parts: list[Panel | Closed] = []
    for part in file.parts:
        if isinstance(part, Panel) and part.is_answerable and part.verdicts:
            is_posted = part.task.code == on and posted is not None
            sheet = part.blank().sheet(posted, problems, second_look=second_look) if is_posted else part.filled()
            part = Panel(**{**_fields(part), "sheet": sheet})
        parts.append(part)
    return CaseFile(**{**_fields(file), "parts": parts})


def next_task(user: User, case: Case, *, now: datetime) -> Task | None:
    """`next_open` without the file around it."""
    left = permissions.visible_tasks(user).filter(case=case, case__blocked="").open(now).select_related("queue")
    return next((task for task in left.order_by("position") if permissions.offered(user, task)[0]), None)


def next_in_queue(user: User, *, beside: Case, now: datetime) -> Task | None:
    """What waits for this person elsewhere, in the order of the queue; what they set aside does not."""
    return waiting.following(user, beside=beside, now=now)


def _fields(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__dataclass_fields__}

"""A case as one person may see it: its tasks as panels, what may be done on each, where it stands, what is around it.

Reads only, in a fixed number of queries. Of other queues' tasks a code and a state is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from approvals import answersheet, diff, exhibits, jsontext, permissions, waiting
from approvals.answersheet import Blank, Sheet
from approvals.exhibits import Content
from approvals.kit import VerdictKit
from approvals.models import Case, Decision, Exhibit, Task, User
from approvals.models.cases import EXPIRED, EndedBecause, State
from approvals.models.people import Role


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One task that this person may see whole."""

    task: Task
    state: str
    exhibit: Content
    decision: Decision | None
    decided_on: Content  # what the decision was made on; the exhibit itself while there is none
    verdicts: list[str]
    why_not: dict[str, str]
    may_edit: bool
    is_answerable: bool  # nothing about the case is in the way
    mine: bool  # this person is on it
    may_claim: bool
    may_recall: bool
    earlier: Earlier | None
    sheet: Sheet | None = None  # there exactly when this person can decide now

    @property
    def kit(self) -> VerdictKit:
        return VerdictKit.from_json(self.task.kit)

    @cached_property
    def changes(self) -> list[diff.Change]:
        """What the decision changed about the proposal, typed."""
        if self.decision is None or self.decision.edits is None:
            return []
        return diff.argument_diff(self.decided_on.proposal or "{}", self.decision.edits)

    @property
    def results(self) -> list[dict[str, Any]] | None:
        return None if self.task.results is None else jsontext.loads(self.task.results)

    @property
    def interrupt(self) -> str:
        """The question's own name, so that a program finds its form."""
        return jsontext.loads(self.task.refs).get("interruptId") or ""

    @property
    def is_open(self) -> bool:
        return self.state == State.OPEN

    def blank(self) -> Blank:
        previous = self.task.case.previous
        repeats = previous is not None and previous.ended_because == EndedBecause.ANSWERED_AGAIN
        filled = self.earlier.decision if repeats and self.earlier else None
        return answersheet.blank(
            self.exhibit, self.kit, self.verdicts, may_edit=self.may_edit,
            place=self.task.position, reason_required=self.task.queue.reason_required, earlier=filled,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """The same question, asked before."""

    task: Task
    decision: Decision | None


@dataclass(frozen=True, kw_only=True)
class Closed:
    """A task of another queue: that it is there, and no more."""

    task: Task
    state: str


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
    def queues(self) -> list[str]:
        return list(dict.fromkeys(part.task.queue.name for part in self.parts))

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
        parts=_Reader(user, case, now).parts(),
        previous=seen.filter(pk=case.previous_id).first() if case.previous_id else None,
        nexts=list(seen.filter(previous=case).order_by("pk")),
    )


def with_sheets(
    file: CaseFile, *, posted: Mapping[str, str] | None = None, on: str = "", problems: list[Any] | None = None
) -> CaseFile:
    """The same file with a form on every task that can be decided; the one on task `on` as it was posted."""
    parts: list[Panel | Closed] = []
    for part in file.parts:
        if isinstance(part, Panel) and part.is_answerable and part.verdicts:
            is_posted = part.task.code == on
            sheet = part.blank().sheet(posted if is_posted else None, problems if is_posted else None)
            part = Panel(**{**_fields(part), "sheet": sheet})
        parts.append(part)
    return CaseFile(**{**_fields(file), "parts": parts})


def next_in_queue(user: User, *, beside: Case, now: datetime) -> Task | None:
    """What waits for this person elsewhere, soonest first."""
    if permissions.role_of(user) != Role.REVIEWER:
        return None
    waiting = permissions.visible_tasks(user).open(now).exclude(case=beside).select_related("case")
    return waiting.soonest_first().first()


def _fields(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__dataclass_fields__}


class _Reader:
    """Loads the parts of one case for one person."""

    def __init__(self, user: User, case: Case, now: datetime) -> None:
        self.user, self.case, self.now = user, case, now
        self.tasks = list(case.tasks.select_related("queue", "claimed_by").order_by("position"))
        for task in self.tasks:
            task.case = case
        self.own = set(permissions.visible_tasks(user).filter(case=case).values_list("pk", flat=True))
        shown = Exhibit.objects.filter(task__in=self.own).values_list("task_id", "digest", "body")
        self.exhibits = {(task, digest): body for task, digest, body in shown}
        live = Decision.objects.live().filter(task__in=self.own).select_related("by")
        self.decisions = {decision.task_id: decision for decision in live}
        self.earlier = self._earlier_tasks()

    def parts(self) -> list[Panel | Closed]:
        return [self._panel(task) if task.pk in self.own else self._closed(task) for task in self.tasks]

    def _closed(self, task: Task) -> Closed:
        return Closed(task=task, state=task.state_at(self.now))

    def _panel(self, task: Task) -> Panel:
        verdicts, why_not, may_edit = permissions.offered(self.user, task)
        decision = self.decisions.get(task.pk)
        exhibit = exhibits.load(self.exhibits[task.pk, task.shown_digest])
        answerable = task.state_at(self.now) == self.case.state == State.OPEN and not self.case.blocked
        mine = task.claimed_by_id == self.user.pk
        can_claim = answerable and task.claimed_by is None and permissions.can_claim(self.user, task)
        decided_on = self.exhibits[task.pk, decision.shown_digest] if decision else None
        return Panel(
            task=task,
            state=task.state_at(self.now),
            exhibit=exhibit,
            decision=decision,
            decided_on=exhibits.load(decided_on) if decided_on else exhibit,
            verdicts=verdicts,
            why_not=why_not,
            may_edit=may_edit,
            is_answerable=answerable,
            mine=mine,
            may_claim=can_claim,
            may_recall=self._may_recall(task, decision),
            earlier=self._earlier(task),
        )

    def _may_recall(self, task: Task, decision: Decision | None) -> bool:
        if decision is None or decision.by_id != self.user.pk or self.case.taken_at is not None:
            return False
        if self.case.state_at(self.now) in (EXPIRED, State.WITHDRAWN, State.DELIVERED):
            return False
        return permissions.can_decide(self.user, task, decision.verdict) is None

    def _earlier_tasks(self) -> list[Task]:
        """Earlier questions of the conversation that this person may see, newest first."""
        if all(task.asking == 1 for task in self.tasks):
            return []
        asked = permissions.visible_tasks(self.user).filter(agent=self.case.agent, thread_key=self.case.thread_key)
        return list(asked.filter(case__lt=self.case.pk).select_related("case").order_by("-pk")[:100])

    def _earlier(self, task: Task) -> Earlier | None:
        names = _names(task)
        found = next((one for one in self.earlier if task.asking > 1 and names & _names(one)), None)
        if found is None:
            return None
        # A decision that was voided or taken back is no answer; of the rest the last one counts.
        decision = Decision.objects.live().filter(task=found).select_related("by").order_by("-pk").first()
        return Earlier(task=found, decision=decision)


def _names(task: Task) -> set[tuple[str, str]]:
    refs = jsontext.loads(task.refs)
    return {(name, refs[name]) for name in ("interruptId", "toolCallId", "gatedCallId") if refs.get(name)}

"""The tasks of one case as one person may see them: what is shown, what may be done, what was typed before.

Reads only, in a fixed number of queries. Of other queues' tasks a code and a state is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from approvals import exhibits, jsontext, permissions
from approvals.desk import answersheet, siblings
from approvals.desk.answersheet import Blank, Sheet
from approvals.exhibits import Content
from approvals.foreign import diff
from approvals.kit import VerdictKit
from approvals.models import Case, Decision, Draft, Exhibit, Note, Task, User
from approvals.models.cases import EXPIRED, EndedBecause, State
from approvals.prepared import Prepared, slot
from approvals.verbs import drafts, friction, notes, opening


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
    notes: list[Note]
    draft: Draft | None  # what this person typed before
    drafted_on: Content | None  # what it was typed over, where that is not what is asked now
    differing: siblings.Differing | None
    unread: list[str]  # what this queue wants opened whole before a yes, and this person did not
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
    def is_high(self) -> bool:
        """Whether a yes here has a room of its own."""
        return friction.is_high(self.task.queue)

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

    @property
    def waits(self) -> bool:
        """Whether this person can decide it now."""
        return self.is_answerable and bool(self.verdicts)

    def blank(self) -> Blank:
        previous = self.task.case.previous
        repeats = previous is not None and previous.ended_because == EndedBecause.ANSWERED_AGAIN
        filled = self.earlier.decision if repeats and self.earlier else None
        return answersheet.blank(
            self.task, self.exhibit, self.kit, self.verdicts, may_edit=self.may_edit, earlier=filled
        )

    def filled(self) -> Sheet:
        """The form as this person left it; what was typed over something else stands beside it."""
        if self.draft is None:
            return self.blank().sheet()
        typed = drafts.fields(self.draft)
        if self.drafted_on is None:
            return self.blank().sheet(typed, kept_at=self.draft.saved_at)
        old = answersheet.blank(self.task, self.drafted_on, self.kit, self.verdicts, may_edit=self.may_edit)
        return self.blank().sheet(stale=old.left_over(typed, at=self.draft.saved_at))


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


exhibits_of = Prepared(lambda: Exhibit.objects.filter(task=slot("task")).values_list("task_id", "digest", "body"))


class Reader:
    """Loads parts of one case for one person."""

    def __init__(self, user: User, case: Case, tasks: Sequence[Task], now: datetime, *, drawn: bool = True) -> None:
        """`drawn`: with what only somebody who looks at them needs, the notes and what was typed before."""
        self.user, self.case, self.now = user, case, now
        self.tasks = tasks
        for task in self.tasks:
            task.case = case
        self.own = {task.pk for task in self.tasks if permissions.can_see(user, task)}
        self.exhibits = {(task, digest): body for task, digest, body in self._all_exhibits()}
        # Deciding settles a task and taking back opens it: an open one has no live decision.
        decided = [task.pk for task in self.tasks if task.pk in self.own and task.state != State.OPEN]
        live = Decision.objects.live().filter(task__in=decided).select_related("by") if decided else ()
        self.decisions = {decision.task_id: decision for decision in live}
        self.earlier = self._earlier_tasks()
        self.notes = list(notes.of(self.own)) if drawn else []
        self.drafts = drafts.of(user, self.own) if drawn else {}
        self.opened = opening.opened_by(user, [task for task in self.tasks if task.pk in self.own])

    def parts(self) -> list[Panel | Closed]:
        contents = [self._shown(task) for task in self.tasks if task.pk in self.own]
        differing = iter(siblings.compared(contents))
        shown = iter(contents)
        return [
            self._panel(task, next(shown), next(differing)) if task.pk in self.own else self._closed(task)
            for task in self.tasks
        ]

    def _all_exhibits(self) -> Iterable[tuple[int, str, str]]:
        if len(self.own) == 1:
            return exhibits_of.rows(task=next(iter(self.own)))
        return Exhibit.objects.filter(task__in=self.own).values_list("task_id", "digest", "body")

    def _shown(self, task: Task) -> Content:
        return exhibits.load(self.exhibits[task.pk, task.shown_digest])

    def _closed(self, task: Task) -> Closed:
        return Closed(task=task, state=task.state_at(self.now))

    def _panel(self, task: Task, exhibit: Content, differing: siblings.Differing | None) -> Panel:
        verdicts, why_not, may_edit = permissions.offered(self.user, task)
        decision = self.decisions.get(task.pk)
        answerable = task.state_at(self.now) == self.case.state == State.OPEN and not self.case.blocked
        mine = task.claimed_by_id == self.user.pk
        can_claim = answerable and task.claimed_by_id is None and permissions.can_claim(self.user, task)
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
            notes=[note for note in self.notes if note.task_id == task.pk],
            draft=self.drafts.get(task.pk),
            drafted_on=self._drafted_on(task),
            differing=differing,
            unread=opening.left(task, exhibit, self.opened),
        )

    def _drafted_on(self, task: Task) -> Content | None:
        draft = self.drafts.get(task.pk)
        if draft is None or draft.shown_digest == task.shown_digest:
            return None
        body = self.exhibits.get((task.pk, draft.shown_digest))
        return exhibits.load(body) if body else None

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

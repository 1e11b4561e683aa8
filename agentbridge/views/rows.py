"""What pages show of a run or a delivery, put together for templates: no rights, no queries in there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agentbridge import links, owntrace, wording
from agentbridge.delivery import ledger, standing
from agentbridge.models import Resume, Run
from agentbridge.views import doubting, nextsteps
from agentbridge.wording import Sign, Words
from approvals import jsontext
from approvals.fields import text_of
from approvals.models import Case, State, User

# The slugs are an outside contract; rules that a reader of runs must not miss get their word.
FLAGS = {"T-77": "orphan-result"}


@dataclass(frozen=True)
class RunRow:
    """A run in a list or on its page."""

    run: Run
    sign: Sign
    page: str
    stream: str
    input: str
    answer: Words
    warnings: list[dict[str, Any]]

    @property
    def is_told_by_agent(self) -> bool:
        """Whether `run.error` is the agent's own text; else it is a sentence of ours."""
        return self.run.status == Run.Status.FAILED or self.run.answer_class == "J"

    @property
    def trace(self) -> owntrace.OwnTrace | None:
        """Where the agent's owner looks at this run."""
        return owntrace.of_run(self.run)


def of_run(run: Run) -> RunRow:
    return RunRow(
        run, wording.RUN[run.status], links.run_page(run), links.run_stream(run), links.run_input(run),
        wording.ANSWER_CLASS.get(run.answer_class, ""), warnings_of(run),
    )  # fmt: skip


def warnings_of(run: Run) -> list[dict[str, Any]]:
    """One per occurrence, each with its sign and its slug."""
    found = jsontext.loads(run.warnings or "[]")
    return [
        {**row, "sign": wording.SEVERITY.get(row["severity"], wording.SEVERITY["warning"]),
         "slug": slug_of(row["rule"])}
        for row in found
    ]  # fmt: skip


def slug_of(rule: str) -> str:
    return FLAGS.get(rule, f"rule-{rule.lower()}")


@dataclass(frozen=True)
class DeliveryRow:
    """A case's delivery: where it stands, what is known, and what this person may do."""

    case: Case
    agent: str
    tool: str
    sign: Sign
    known: Words
    tries: int
    since: datetime
    resume: Resume | None = None
    attempts: Sequence[RunRow] = ()
    actions: Sequence[tuple[str, Sign]] = field(default_factory=tuple)
    next_step: Words = ""
    next_case: Case | None = None  # that asks again
    again: str = ""  # what a resend would send
    risk: Words = ""  # of sending it again
    doubt: doubting.Doubt | None = None
    seen: str = ""  # what somebody who acts on this row has before their eyes


def of_case(case: Case, *, resume: Resume | None, names: Mapping[str, str], actor: User | None, now: datetime,
            moved_on: bool = False, newest: Mapping[int, Run] | None = None) -> DeliveryRow:  # fmt: skip
    """`case` comes with its tasks and their queues prefetched, `resume` with its agent and attempts.

    `names` maps slugs to names; `actor` is the person who may act here, or None; `newest`: see `doubting`.
    """
    sign = sign_of(case, resume, now)
    actions = ledger.actions(case, resume, now, moved_on=moved_on) if actor else ()
    attempts = [of_run(run) for run in resume.attempts.all() if run.armed_at] if resume else []
    return DeliveryRow(
        case=case, agent=names.get(case.agent, case.agent), tool=tools_of(case), sign=sign,
        known=known(case, resume, sign, now), tries=len(attempts), since=since(case, resume), resume=resume,
        attempts=attempts, actions=signed(case, resume, actions, actor),
        next_step=nextsteps.of(case, resume, sign, now),
        next_case=next(iter(case.nexts.all()), None) if sign is wording.DELIVERY["interrupted_again"] else None,
        again=text_of(resume.sealed) if resume and "resend" in actions else "",
        risk=wording.RESEND[standing.replay_class(resume.agent, now=now)] if resume else "",
        seen=ledger.seen_as(resume) if resume else "",
        doubt=doubting.of(resume, newest or {}),
    )  # fmt: skip


def signed(case: Case, resume: Resume | None, actions: Sequence[str], actor: User | None) -> list[tuple[str, Sign]]:
    """The ways out with their words. Where it takes two to send again, the first asks and another one agrees."""
    signs = {action: wording.ACTIONS[action] for action in actions}
    if "resend" in signs and resume is not None and ledger.takes_two(case, resume):
        signs["resend"] = wording.ASK_TO_RESEND if resume.resend_asked_by_id is None else wording.AGREE_TO_RESEND
        if actor is not None and resume.resend_asked_by_id == actor.pk:
            del signs["resend"]
    return list(signs.items())


def sign_of(case: Case, resume: Resume | None, now: datetime) -> Sign:
    """An expired or blocked case says so; else the delivery's state."""
    if case.state == State.QUARANTINED:
        return wording.QUARANTINED
    if case.is_expired(now) and (resume is None or resume.state != "expired_unsent"):
        return wording.EXPIRED
    if case.blocked and (resume is None or resume.state == "ready"):
        return wording.BLOCKED
    return wording.DELIVERY[ledger.state_of(case, now, resume) or ledger.HELD]


def known(case: Case, resume: Resume | None, sign: Sign, now: datetime) -> Words:
    if sign is wording.BLOCKED:
        return case.blocked
    return (resume.note if resume else "") or sign.meaning


def since(case: Case, resume: Resume | None) -> datetime:
    return resume.changed_at if resume else case.settled_at or case.opened_at


def tools_of(case: Case) -> str:
    """Every tool once, in the order asked; foreign text."""
    return ", ".join(dict.fromkeys(task.tool for task in case.tasks.all() if task.tool))

"""The bridge's verbs in the trail, and the names that every one of its entries carries.

An entry is written in the transaction of the deed it tells (promise 6): callers stand inside `transaction.atomic()`.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from agentbridge.models import Agent, Resume, Run
from approvals import audit
from approvals.models import Case, Task, User

VERBS = (
    "run.queued", "run.leased", "run.requeued", "run.armed", "run.started", "run.finished", "run.interrupted",
    "run.cancelled", "run.failed", "run.rejected", "run.truncated", "run.refused", "run.unsent", "run.unknown",
    "run.observed", "run.pushed", "run.erred_late", "run.unasked",
    "resume.sealed", "resume.replaced", "resume.asked",
    "delivery.ready", "delivery.leased", "delivery.armed", "delivery.accepted", "delivery.finished",
    "delivery.interrupted_again", "delivery.agent_error", "delivery.rejected", "delivery.expired_unsent",
    "delivery.in_doubt", "delivery.outcome_unknown", "delivery.dead", "delivery.marked_done", "delivery.abandoned",
    "delivery.erred_late", "delivery.rebound", "delivery.resend_asked",
    "agent.added", "agent.changed", "agent.url_changed", "agent.token_made", "agent.switched_on", "agent.switched_off",
    "agent.replay_set", "agent.replay_lapsed", "agent.tested", "agent.probed", "incident.opened", "incident.closed",
)  # fmt: skip
audit.register(*VERBS)


def refs_of_run(run: Run) -> dict[str, str | None]:
    """The names by which a person or a program finds this run again."""
    return {"agent": run.thread.agent.slug, "threadId": run.thread.thread_id, "runId": run.run_id}


def of_run(verb: str, sentence: str, *, run: Run, now: datetime, actor: User | None = None,
           case: Case | None = None, data: dict[str, Any] | None = None) -> None:
    """One entry about a run, found by its agent and thread."""
    thread = run.thread
    audit.record(
        verb, sentence, actor=actor, actor_kind=kind_of(actor), case=case, agent=thread.agent.slug,
        thread_key=thread.key, refs=refs_of_run(run), data=data, now=now,
    )  # fmt: skip


def of_resume(verb: str, sentence: str, *, resume: Resume, now: datetime, actor: User | None = None,
              run: Run | None = None, task: Task | None = None, data: dict[str, Any] | None = None) -> None:
    """One entry about a delivery, on its case."""
    thread = resume.thread
    refs: dict[str, str | None] = {"agent": resume.agent.slug, "threadId": thread.thread_id}
    if run is not None:
        refs["runId"] = run.run_id
    audit.record(
        verb, sentence, actor=actor, actor_kind=kind_of(actor), case=resume.case, task=task, agent=resume.agent.slug,
        thread_key=thread.key, refs=refs, data=data, now=now,
    )  # fmt: skip


def of_agent(verb: str, sentence: str, *, agent: Agent, now: datetime, actor: User | None = None,
             data: dict[str, Any] | None = None) -> None:
    audit.record(
        verb, sentence, actor=actor, actor_kind=kind_of(actor), agent=agent.slug, refs={"agent": agent.slug},
        data=data, now=now,
    )  # fmt: skip


def kind_of(actor: User | None) -> str:
    if actor is None:
        return "system"
    return "service" if actor.is_service else "person"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

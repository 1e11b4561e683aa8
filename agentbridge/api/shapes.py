"""What the API says about cases, deliveries, runs and incidents, as plain values for `jsontext.dumps`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from agentbridge import links, owntrace
from agentbridge.delivery import ledger
from agentbridge.models import Incident, Resume, Run
from approvals import jsontext, permissions
from approvals.api import shapes as review_shapes
from approvals.api.stamps import stamp, stamp_or_none
from approvals.models import Case, State, User


def case(found: Case, *, asking: User, incidents: Iterable[Incident], now: datetime) -> dict[str, Any]:
    """A case with its tasks; those of queues that are not the asking person's only by name.

    The delivery is read first: its end and the case's are one transaction, so whoever reads of an end finds the rest.
    """
    every = found.tasks.select_related("queue", "case").order_by("position")
    whole = permissions.visible_tasks(asking).filter(case=found).count() == every.count()
    sent = delivery(found, whole=whole, now=now)
    found.refresh_from_db(fields=["state", "blocked", "ended_because", "sent_at"])
    if found.state == State.DELIVERED:
        sent = delivery(found, whole=whole, now=now)
    own = review_shapes.with_parts(permissions.visible_tasks(asking).filter(case=found))
    full = {task.pk: review_shapes.task(task, asking=asking, now=now) for task in own}
    following = found.nexts.order_by("pk").last()
    return {
        "code": found.code, "state": found.state_at(now), "blocked": found.blocked or None,
        "endedBecause": found.ended_because or None, "deadline": stamp_or_none(found.deadline),
        "tasks": [full.get(task.pk) or review_shapes.closed_task(task, now=now) for task in every],
        "incidents": [incident(row) for row in incidents],
        "delivery": sent,
        "previous": found.previous.code if found.previous else None,
        "next": following.code if following else None,
    }  # fmt: skip


def delivery(found: Case, *, whole: bool, now: datetime) -> dict[str, Any] | None:
    """None until the case is settled. Entries are told only to those who see every task that they answer."""
    state = ledger.state_of(found, now)
    if state is None:
        return None
    resume = ledger.current(found)
    # What never got a connection is no attempt: not a byte of it left.
    attempts = Run.objects.filter(resume=resume, armed_at__isnull=False) if resume else Run.objects.none()
    attempts = attempts.select_related("thread__agent").order_by("attempt")
    return {
        "state": state, "class": (resume and resume.answer_class) or None,
        "entries": entries(resume) if resume and whole else [], "attempts": [attempt(run) for run in attempts],
    }  # fmt: skip


def entries(resume: Resume) -> list[Any]:
    """As sent; empty where the agent is answered in `forwardedProps` only."""
    return list(jsontext.loads(bytes(resume.entries).decode("utf-8", "surrogatepass") or "[]"))


def attempt(run: Run) -> dict[str, Any]:
    return {
        "n": run.attempt, "runId": run.run_id, "state": run.status, "class": run.answer_class or None,
        "at": stamp(run.armed_at or run.created_at), "httpStatus": run.http_status, "error": run.error or None,
        "bytesSent": run.bytes_sent, "bytesReceived": run.bytes_received, "traceUrl": trace_url(run),
    }  # fmt: skip


def trace_url(found: Run) -> str | None:
    """The agent's own trace of it, outside this desk."""
    trace = owntrace.of_run(found)
    return trace.url if trace else None


def run(found: Run) -> dict[str, Any]:
    """A run without its bytes; `url` is its page."""
    return {
        "runId": found.run_id, "threadId": found.thread.thread_id, "kind": found.kind, "status": found.status,
        "outcome": found.outcome or None, "error": found.error or None, "url": links.absolute(links.run_page(found)),
        "startedAt": stamp_or_none(found.armed_at or found.accepted_at), "endedAt": stamp_or_none(found.ended_at),
        "class": found.answer_class or None, "warnings": jsontext.loads(found.warnings or "[]"),
        "events": found.events, "bytes": found.bytes_received, "traceUrl": trace_url(found),
    }  # fmt: skip


def incident(found: Incident) -> dict[str, Any]:
    return {
        "id": found.pk, "kind": found.kind, "case": found.case.code, "task": found.task.code if found.task else None,
        "runId": found.run.run_id if found.run else None, "toolCallId": found.tool_call_id, "text": found.text,
        "at": stamp(found.opened_at), "closedAt": stamp_or_none(found.closed_at),
        "closedBy": found.closed_by.username if found.closed_by else None, "reason": found.reason or None,
    }  # fmt: skip

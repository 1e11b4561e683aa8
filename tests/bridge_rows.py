"""Rows of the bridge for tests of pages and API: an agent, a run that asked, the resume that answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from django.utils import timezone

from agentbridge.models import Agent, Incident, Interrupt, Resume, Run, StreamChunk, Thread
from agentbridge.models.agents import key_of
from approvals import jsontext
from approvals.models import Case, Queue, Task

STREAM = b'data: {"type":"RUN_STARTED","threadId":"thread-1","runId":"run-1"}\n\n'


def add_agent(queue: Queue, slug: str = "payer", **more: Any) -> Agent:
    given = {"name": slug.title(), "url": "https://agent.example/", "created_at": timezone.now(), **more}
    return Agent.objects.create(slug=slug, queue=queue, **given)


def add_run(
    agent: Agent, run_id: str = "run-1", thread_id: str = "thread-1", *, stream: bytes = STREAM, **more: Any
) -> Run:
    """A run that paused, with its bytes."""
    thread, _ = Thread.objects.get_or_create(agent=agent, key=key_of(thread_id), defaults={"thread_id": thread_id})
    now = timezone.now()
    given = {
        "status": Run.Status.INTERRUPTED, "outcome": "interrupt",
        "created_at": now, "armed_at": now, "accepted_at": now, "ended_at": now,
        "input": b'{"threadId":"thread-1"}', "bytes_received": len(stream), "events": 1,
    }  # fmt: skip
    run = Run.objects.create(thread=thread, run_id=run_id, key=key_of(run_id), **{**given, **more})
    if stream:
        StreamChunk.objects.create(run=run, n=1, at=now, data=stream)
    return run


def bind(run: Run, tasks: Iterable[Task]) -> None:
    """The interrupts of a run that these tasks answer."""
    for position, task in enumerate(tasks):
        id_ = f"int-{position + 1}"
        Interrupt.objects.create(
            run=run, position=position, key=key_of(id_), interrupt_id=id_, raw=f'{{"id":"{id_}"}}', task=task
        )


def seal(case: Case, run: Run, *, state: str = "in_doubt", entries: list[Any] | None = None, **more: Any) -> Resume:
    """The sealed answers of a case."""
    told = jsontext.dumps([{"interruptId": "int-1", "status": "resolved", "payload": {"approved": True}}])
    body = (told if entries is None else jsontext.dumps(entries)).encode()
    now = timezone.now()
    Case.objects.filter(pk=case.pk).update(
        state="settled", settled_at=now, deliver_after=now, taken_at=now, sent_at=now if state != "ready" else None
    )
    case.refresh_from_db()
    return Resume.objects.create(
        case=case, interrupted_run=run, thread=run.thread, agent=run.thread.agent, state=state, entries=body,
        url_version=run.thread.agent.url_version, sha256=hashlib.sha256(body).hexdigest(),
        sealed_at=now, changed_at=now,
        **more,
    )  # fmt: skip


def attempt(resume: Resume, n: int = 1, **more: Any) -> Run:
    return add_run(
        resume.agent, f"resumed-{n}", kind=Run.Kind.RESUMED, resume=resume, attempt=n,
        **{"status": Run.Status.TRUNCATED, "outcome": "", "answer_class": "H", "bytes_sent": 8004, **more},
    )  # fmt: skip


def incident(case: Case, run: Run, **more: Any) -> Incident:
    given = {"kind": "ran_twice", "text": "The call ran twice.", "opened_at": timezone.now(), **more}
    return Incident.objects.create(case=case, run=run, **given)

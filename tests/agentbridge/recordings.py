"""Answers of an agent put on record without a network: bytes in, rows out."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from agentbridge.delivery.tickets import Head
from agentbridge.models import Agent, Run
from agentbridge.runs.recorder import Recording
from approvals import jsontext
from approvals.kit import VerdictKit
from approvals.models import Case, Queue, Task, User
from tests.bridge_rows import add_agent
from tests.bridge_work import ask
from tests.people import only_task


class Tape:
    """An agent of the queue, asked by a reviewer, whose answers the test hands out byte by byte."""

    def __init__(self, queue: Queue, by: User, **agent: Any) -> None:
        self.by = by
        self.agent: Agent = add_agent(queue, **agent)

    def record(
        self, *parts: bytes, thread: str = "thread-1", status: int = 200, cut: str | None = None, trouble: str = "",
        **asked: Any,
    ) -> Run:
        """One run: asked for, answered with these parts, over. `__RUN__` and `__THREAD__` stand for its ids."""
        run = ask(self.agent, self.by, thread_id=thread, **asked)
        recording = Recording(Run.objects.select_related("thread__agent", "resume__case").get(pk=run.pk))
        recording.opened(Head(status=status))
        for part in parts:
            named = part.replace(b"__RUN__", run.run_id.encode()).replace(b"__THREAD__", thread.encode())
            recording.keep(named, now=timezone.now())
        recording.close(cut=cut, trouble=trouble, now=timezone.now())
        run.refresh_from_db()
        return run

    def task(self, *parts: bytes, **more: Any) -> Task:
        """The only question that this run asks."""
        return only_task(case_of(self.record(*parts, **more)))


def case_of(run: Run) -> Case:
    return Case.objects.distinct().get(tasks__in=run.interrupts.values("task"))


def kit_of(task: Task) -> VerdictKit:
    return VerdictKit.from_json(task.kit)


def warned(run: Run) -> dict[str, str]:
    """rule → where, of a stored run's warnings; the last of each rule."""
    return {each["rule"]: each["where"] for each in jsontext.loads(run.warnings)}


def slugs(task: Task) -> list[str]:
    task.refresh_from_db()
    return [each["slug"] for each in task.flags]

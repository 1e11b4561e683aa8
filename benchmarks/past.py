"""A year of decisions for the workbench to count, filter and sample, told as the product would have told them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.filling import Pause

QUEUES = ("payments", "travel", "people", "stock")
TOOLS = (*(f"tool_{n:02}" for n in range(19)), "refund_order")
REVIEWERS = 12
VERDICTS = ("approved",) * 8 + ("rejected", "cancelled")
EDITS = '{"to": "ops@example.org", "amount": 99, "note": "rent"}'
DAYS, BATCH = 365, 5_000


def decided(pause: Pause, count: int) -> Iterator[dict[str, Any]]:
    """So many delivered cases of one decision each, spread over the year before; what the trail tells of them.

    Queues and people are made at once, for the trail tells of them too; the rest is made while it is read.
    """
    return _decided(pause, count, queues(pause), reviewers(pause)) if count else iter(())


def _decided(pause: Pause, count: int, desks: list[Any], people: list[Any]) -> Iterator[dict[str, Any]]:
    from approvals.models import Case, Decision, Exhibit, Task

    pick, began = random.Random(11), pause.now - timedelta(days=DAYS)
    for start in range(0, count, BATCH):
        numbers = range(start, min(start + BATCH, count))
        moments = [began + timedelta(days=DAYS) * (n / count) for n in numbers]
        cases = Case.objects.bulk_create([_case(pause, n, at) for n, at in zip(numbers, moments, strict=True)])
        tasks = Task.objects.bulk_create([_task(pause, case, desks, n) for case, n in zip(cases, numbers, strict=True)])
        Exhibit.objects.bulk_create([Exhibit(**{**_columns(pause.exhibit), "task_id": task.pk}) for task in tasks])
        made = [_decision(task, pick, people, at) for task, at in zip(tasks, moments, strict=True)]
        for decision in Decision.objects.bulk_create(made):
            yield from _told(pause, decision)


def queues(pause: Pause) -> list[Any]:
    from approvals import people

    return [people.set_queue(name, now=pause.now) for name in QUEUES]


def reviewers(pause: Pause) -> list[Any]:
    from approvals import people
    from approvals.models.people import Role

    names = [f"past{n}" for n in range(REVIEWERS)]
    return [people.set_user(name, role=Role.REVIEWER, queues=QUEUES, now=pause.now) for name in names]


def _columns(row: Any) -> dict[str, Any]:
    from benchmarks.filling import columns

    return {**columns(row), "pk": None}


def _case(pause: Pause, n: int, at: Any) -> Any:
    from approvals.models import Case
    from approvals.models.cases import new_case_code
    from approvals.trail.trailsearch import key_of

    told = {"code": new_case_code(), "thread_key": key_of(f"past-{n}"), "state": "delivered", "ended_at": at}
    times = dict.fromkeys(("opened_at", "settled_at", "deliver_after", "taken_at", "sent_at"), at)
    refs = json.dumps({"threadId": f"past-{n}", "runId": f"pr{n}"})
    return Case(**{**_columns(pause.case), **told, **times, "refs": refs, "deadline": None})


def _task(pause: Pause, case: Any, desks: list[Any], n: int) -> Any:
    from approvals.models import Task
    from approvals.models.cases import new_task_code

    told = {"code": new_task_code(), "state": "settled", "tool": TOOLS[n % len(TOOLS)], "refs": case.refs}
    where = {"case_id": case.pk, "queue_id": desks[n % len(desks)].pk}
    told |= {"thread_key": case.thread_key, "agent": case.agent}
    task = Task(**{**_columns(pause.task), **told, **where, "deadline": None, "due_at": None})
    task.case = case
    return task


def _decision(task: Any, pick: random.Random, people: list[Any], at: Any) -> Any:
    from approvals.models import Decision

    verdict = pick.choice(VERDICTS)
    edits = EDITS if verdict == "approved" and pick.random() < 0.15 else None
    answer = None if verdict == "cancelled" else json.dumps({"approved": verdict == "approved"})
    return Decision(
        task=task, by=pick.choice(people), verdict=verdict, answer=answer, edits=edits, at=at,
        shown_digest=task.shown_digest,
    )  # fmt: skip


def _told(pause: Pause, decision: Any) -> Iterator[dict[str, Any]]:
    from approvals.verbs.deciding import facts

    for entry in pause.opened(decision.task):
        yield {**entry, "at": decision.at}
    about = {"case": decision.task.case, "task": decision.task, "refs": decision.task.refs}
    names = {"agent": decision.task.agent, "thread_key": decision.task.thread_key}
    changed = ["/amount"] if decision.edits else []
    sentence = f"{decision.by.username} {decision.verdict} {decision.task.code}."
    yield {
        **about, **names, "verb": "task.decided", "actor": decision.by, "at": decision.at, "sentence": sentence,
        "data": {**facts(decision), "changedPaths": changed},
    }  # fmt: skip

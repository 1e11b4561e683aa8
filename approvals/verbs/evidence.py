"""What is learned about a task after the decision: results, a conclusion, warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from approvals import audit, jsontext, locking
from approvals.models import Task


@transaction.atomic
def record_results(task: Task, *, results: Sequence[Mapping[str, Any]], now: datetime) -> None:
    """Keep results, JSON objects of texts, in order of arrival. It is the caller's to say each of them once."""
    _case, task = locking.locked(task)
    before = jsontext.loads(task.results or "[]")
    Task.objects.filter(pk=task.pk).update(results=jsontext.dumps([*before, *map(dict, results)]))
    for n, result in enumerate(results, start=len(before) + 1):
        which = "A result" if n == 1 else f"Result {n}"
        audit.record("task.result", f"{which} came in for {task.code}.", task=task, data=result, now=now)


@transaction.atomic
def conclude(task: Task, *, sentence: str, now: datetime) -> None:
    """Say what really happened; a later conclusion replaces the earlier one, the trail keeps both."""
    if Task.objects.filter(pk=task.pk).exclude(conclusion=sentence).update(conclusion=sentence):
        audit.record("task.concluded", f"{task.code}: {sentence}", task=task, now=now)


@transaction.atomic
def add_flag(task: Task, *, flag: Mapping[str, Any], now: datetime) -> None:
    """Warn about a task from now on; the same warning at the same place is said once."""
    _case, task = locking.locked(task)
    place = (flag["slug"], flag.get("pointer"))
    if any((known["slug"], known.get("pointer")) == place for known in task.flags):
        return
    Task.objects.filter(pk=task.pk).update(flags=[*task.flags, dict(flag)])
    audit.record("task.flagged", f"Warning on {task.code}: {flag['sentence']}", task=task, data=flag, now=now)

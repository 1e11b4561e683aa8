"""What is learned about a task after the decision: results, a conclusion, warnings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from approvals import audit, jsontext, locking
from approvals.models import Task


@transaction.atomic
def record_result(task: Task, *, result: Mapping[str, Any], now: datetime) -> None:
    """Keep one result, a JSON object of texts, in order of arrival. It is the caller's to say it once."""
    _case, task = locking.locked(task)
    results = [*jsontext.loads(task.results or "[]"), dict(result)]
    Task.objects.filter(pk=task.pk).update(results=jsontext.dumps(results))
    which = "A result" if len(results) == 1 else f"Result {len(results)}"
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

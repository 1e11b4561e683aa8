"""The numbers of this deployment, counted when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from django.db.models import Count, Min

from agentbridge.models import Incident, Resume, Run
from approvals.models import AuditEntry, Case, Task

Reading = tuple[str, str, str, Mapping[str, float]]  # name, help, label or "", value by label


def read(now: datetime) -> Iterator[Reading]:
    yield from _waiting(now)
    states = Resume.objects.filter(replaced_at=None).values_list("state").annotate(Count("pk")).order_by()
    yield "countersign_deliveries", "Sealed deliveries by state", "state", dict(states)
    statuses = Run.objects.in_flight().values_list("status").annotate(Count("pk")).order_by()
    yield "countersign_runs_in_flight", "Runs that are not over, by status", "status", dict(statuses)
    opened = Incident.objects.filter(closed_at=None).values_list("kind").annotate(Count("pk")).order_by()
    yield "countersign_open_incidents", "Incidents that nobody closed, by kind", "kind", dict(opened)
    newest = AuditEntry.objects.order_by("-seq").values_list("seq", flat=True).first()
    yield "countersign_trail_seq", "Number of the newest trail entry", "", {"": newest or 0}


def _waiting(now: datetime) -> Iterator[Reading]:
    tasks = Task.objects.open(now)
    depth = dict(tasks.values_list("queue__name").annotate(Count("pk")).order_by())
    oldest = tasks.values_list("queue__name").annotate(Min("case__opened_at")).order_by()
    ages = {name: (now - at).total_seconds() for name, at in oldest}
    yield "countersign_open_tasks", "Tasks that wait for a person, by queue", "queue", depth
    yield "countersign_oldest_open_task_seconds", "Age of the oldest of them, by queue", "queue", ages
    due = Case.objects.due(now).aggregate(count=Count("pk"), since=Min("deliver_after"))
    lag = (now - due["since"]).total_seconds() if due["since"] else 0
    yield (
        "countersign_outbox_cases",
        "Settled cases that no worker took yet though they are due",
        "",
        {"": due["count"]},
    )
    yield "countersign_outbox_lag_seconds", "How long the oldest of them has been due", "", {"": lag}

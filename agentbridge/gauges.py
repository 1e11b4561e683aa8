"""The numbers of this deployment, counted when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from django.db.models import Count, Max, Min

from agentbridge.models import Incident, Resume, Run
from agentbridge.models.delivery import WAITING, DeliveryState
from approvals.live import feed
from approvals.models import AuditEntry, Case, Task

UNSENT = (DeliveryState.READY, DeliveryState.LEASED)

Reading = tuple[str, str, str, Mapping[str, float]]  # name, help, label or "", value by label


def read(now: datetime) -> Iterator[Reading]:
    yield from _waiting(now)
    states = Resume.objects.filter(replaced_at=None).values_list("state").annotate(Count("pk")).order_by()
    yield "countersign_deliveries", "Sealed deliveries by state", "state", dict(states)
    yield from _deliveries(now)
    statuses = Run.objects.in_flight().values_list("status").annotate(Count("pk")).order_by()
    yield "countersign_runs_in_flight", "Runs that are not over, by status", "status", dict(statuses)
    opened = Incident.objects.filter(closed_at=None).values_list("kind").annotate(Count("pk")).order_by()
    yield "countersign_open_incidents", "Incidents that nobody closed, by kind", "kind", dict(opened)
    newest = AuditEntry.objects.order_by("-seq").values_list("seq", flat=True).first()
    yield "countersign_trail_seq", "Number of the newest trail entry", "", {"": newest or 0}
    behind = max(0, (newest or 0) - feed.cursor) if feed.listeners else 0
    yield "countersign_feed_lag_entries", "Entries that open pages of this process were not told yet", "", {"": behind}


def _deliveries(now: datetime) -> Iterator[Reading]:
    current = Resume.objects.filter(replaced_at=None)
    doubt = current.filter(state__in=WAITING).aggregate(count=Count("pk"), since=Min("changed_at"))
    yield "countersign_deliveries_in_doubt", "Deliveries that wait for a person", "", {"": doubt["count"]}
    waited = age(doubt["since"], now)
    yield "countersign_oldest_doubt_seconds", "How long the oldest of them has waited", "", {"": waited}
    unsent = current.filter(state__in=UNSENT).aggregate(since=Min("sealed_at"), tries=Max("attempts_made"))
    yield "countersign_delivery_lag_seconds", "Since the oldest unsent answers were sealed", "", {
        "": age(unsent["since"], now)
    }
    tries = unsent["tries"] or 0
    yield "countersign_delivery_attempts", "Most tries of a delivery that is still unsent", "", {"": tries}
    attempts = Run.objects.filter(kind=Run.Kind.RESUMED).exclude(armed_at=None).values_list("status")
    counted = dict(attempts.annotate(Count("pk")).order_by())
    yield "countersign_attempts", "Requests with answers that left, by the status of their run", "status", counted


def age(since: datetime | None, now: datetime) -> float:
    return (now - since).total_seconds() if since else 0.0


def _waiting(now: datetime) -> Iterator[Reading]:
    tasks = Task.objects.open(now)
    depth = dict(tasks.values_list("queue__name").annotate(Count("pk")).order_by())
    oldest = tasks.values_list("queue__name").annotate(Min("case__opened_at")).order_by()
    ages = {name: (now - at).total_seconds() for name, at in oldest}
    yield "countersign_open_tasks", "Tasks that wait for a person, by queue", "queue", depth
    yield "countersign_oldest_open_task_seconds", "Age of the oldest of them, by queue", "queue", ages
    due = Case.objects.due(now).aggregate(count=Count("pk"), since=Min("deliver_after"))
    lag = age(due["since"], now)
    yield (
        "countersign_outbox_cases",
        "Settled cases that no worker took yet though they are due",
        "",
        {"": due["count"]},
    )
    yield "countersign_outbox_lag_seconds", "How long the oldest of them has been due", "", {"": lag}

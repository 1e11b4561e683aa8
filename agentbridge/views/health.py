"""What machines ask: is the process up, can it work, and how much waits."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

from agentbridge import gauges
from approvals import permissions, tokens

ROOM = 16_000_000  # bytes: SQLite's log grows by 4 MB between two checkpoints, and a large answer has to fit too
_migrated = False  # asked until the answer is yes: what is applied stays applied while this process runs


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers; nothing else is asked."""
    return JsonResponse({"status": "up"})


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when decisions could be recorded now, else 503 with the reason."""
    reason = why_not_ready()
    if reason:
        return JsonResponse({"status": "not ready", "reason": reason}, status=503)
    return JsonResponse({"status": "ready"})


def why_not_ready() -> str | None:
    global _migrated
    if not (settings.SIGNING_KEYS and settings.FIELD_KEYS):
        return "The keys are not loaded."
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        if not _migrated:
            executor = MigrationExecutor(connection)
            _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return "The database does not answer."
    if not has_room():
        return "The disk that holds the database is full."
    return None if _migrated else "Migrations are not applied."


def has_room() -> bool:
    """False when SQLite's disk is full; how full the disk of a PostgreSQL server is, only that server knows."""
    if connection.vendor != "sqlite":
        return True
    return shutil.disk_usage(Path(connection.settings_dict["NAME"]).parent).free >= ROOM


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """For Prometheus, with the Bearer token of a person who sees all: numbers tell about the work of every queue."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    now = timezone.now()
    user = tokens.owner(token, now=now) if scheme.lower() == "bearer" and token else None
    if user is None:
        return HttpResponse("Send the Bearer token of a person.\n", status=401, headers={"WWW-Authenticate": "Bearer"})
    if not permissions.sees_all(user):
        return HttpResponse("Only auditors, operators and admins read the metrics.\n", status=403)
    return HttpResponse(exposition(now), content_type=CONTENT_TYPE_LATEST)


def exposition(now: datetime) -> bytes:
    """Counted from the database at each scrape, so every web process tells the same."""
    registry = CollectorRegistry()
    for name, help_text, label, values in gauges.read(now):
        gauge = Gauge(name, help_text, [label] if label else [], registry=registry)
        for key, value in values.items():
            (gauge.labels(key) if label else gauge).set(value)
    return generate_latest(registry)

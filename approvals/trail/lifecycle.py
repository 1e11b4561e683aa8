"""Starts and stops of the desk's processes, on the trail: from when to when which version was at work, and how set up.

So are a clock that went back and settings that are not those of the last start: both explain what stands around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from approvals import audit, jsontext
from approvals.models import AuditEntry
from approvals.trail import configuration, signing

log = structlog.get_logger(__name__)
audit.register("desk.started", "desk.stopped", "config.changed", "clock.regression")

CLOCKS_DIFFER = timedelta(seconds=5)  # so far the clocks of two machines may be apart without being wrong
TELL_AGAIN = timedelta(hours=1)  # two clocks that stay apart are told of so often


@contextmanager
def at_work(process: str) -> Iterator[None]:
    """A process that lives inside. Without a database it may start all the same: it can do nothing but wait for it."""
    _tell("desk.started", f"A {process} was started.", process, settings=configuration.current())
    try:
        yield
    finally:
        _tell("desk.stopped", f"A {process} was stopped.", process)


def watch_clock(*, now: datetime) -> None:
    """Tell of a clock that stands before the newest entry, by more than clocks differ; now and then where it stays."""
    newest = AuditEntry.objects.order_by("-seq").values_list("seq", "at").first()
    if newest is None or newest[1] - now <= CLOCKS_DIFFER:
        return
    if AuditEntry.objects.filter(verb="clock.regression", at__gt=now - TELL_AGAIN, at__lte=now).exists():
        return
    seconds = round((newest[1] - now).total_seconds())
    said = f"The clock stands {seconds} seconds before entry {newest[0]}: it was set back, or was ahead."
    audit.record("clock.regression", said, data={"seq": newest[0], "seconds": seconds}, now=now)


def version() -> str:
    """As the changelog names it; "" where there is none."""
    changes = Path(settings.BASE_DIR) / "CHANGELOG.md"
    found = re.search(r"^## (\S+)", changes.read_text("utf-8"), re.MULTILINE) if changes.exists() else None
    return found[1] if found else ""


def _tell(verb: str, sentence: str, process: str, **more: Any) -> None:
    now = timezone.now()
    try:
        signing.publish(now=now)
        if "settings" in more:
            _tell_changes(process, more["settings"], now=now)
        audit.record(verb, sentence, data={"process": process, "version": version(), **more}, now=now)
    except DatabaseError as problem:
        log.error("lifecycle.not_told", verb=verb, problem=str(problem))


def _tell_changes(process: str, current: dict[str, str], *, now: datetime) -> None:
    """Against what such a process told at its last start. The first one changed nothing."""
    starts = AuditEntry.objects.filter(verb="desk.started", data__isnull=False).order_by("-seq")
    told = (jsontext.loads(text or "{}") for text in starts.values_list("data", flat=True)[:20])
    before = next((data["settings"] for data in told if data["process"] == process and "settings" in data), None)
    if before is not None and (changed := configuration.changes(before, current)):
        said = f"A {process} starts with other settings than the last one: {', '.join(changed)}."
        audit.record("config.changed", said, data={"process": process, "changed": changed}, now=now)

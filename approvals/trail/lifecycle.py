"""Starts and stops of the desk's processes, on the trail: from when to when which version was at work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from approvals import audit
from approvals.trail import signing

log = structlog.get_logger(__name__)
audit.register("desk.started", "desk.stopped")


@contextmanager
def at_work(process: str) -> Iterator[None]:
    """A process that lives inside. Without a database it may start all the same: it can do nothing but wait for it."""
    _tell("desk.started", f"A {process} was started.", process)
    try:
        yield
    finally:
        _tell("desk.stopped", f"A {process} was stopped.", process)


def version() -> str:
    """As the changelog names it; "" where there is none."""
    changes = Path(settings.BASE_DIR) / "CHANGELOG.md"
    found = re.search(r"^## (\S+)", changes.read_text("utf-8"), re.MULTILINE) if changes.exists() else None
    return found[1] if found else ""


def _tell(verb: str, sentence: str, process: str) -> None:
    now = timezone.now()
    try:
        signing.publish(now=now)
        audit.record(verb, sentence, data={"process": process, "version": version()}, now=now)
    except DatabaseError as problem:
        log.error("lifecycle.not_told", verb=verb, problem=str(problem))

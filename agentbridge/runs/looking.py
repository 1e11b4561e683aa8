"""Who only reads and opens a run has read what its cases are about: the same look as at a case (`trail.sightings`)."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from agentbridge.models import Interrupt, Run
from approvals.models import AuditEntry, Case, User
from approvals.trail import sightings


def opened(run: Run, *, by: User, page: str, now: datetime) -> AuditEntry | None:
    """On a page, each time; the newest entry, None for those who do not only read and for a run without a case."""
    if not sightings.is_reader(by):
        return None
    told = [sightings.opened(case, [], by=by, page=page, now=now) for case in cases_of(run)]
    return told[-1] if told else None


def read_by_program(run: Run, *, by: User, now: datetime) -> None:
    if sightings.is_reader(by):
        for case in cases_of(run):
            sightings.read_by_program(case, by=by, now=now)


def cases_of(run: Run) -> list[Case]:
    """What it asked for, and what it was the answer to."""
    asked = Interrupt.objects.filter(run=run).values("task__case")
    concerned = Q(pk__in=asked) | Q(pk=run.resume.case_id) if run.resume else Q(pk__in=asked)
    return list(Case.objects.filter(concerned).order_by("pk"))

"""The bridge's half of a record: what was sealed, every attempt to send it, what came back, and what did not fit.

Each part with the entry of the trail that tells of it. Reads only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from agentbridge import visibility
from agentbridge.delivery import receipts
from agentbridge.delivery.receipts import Said
from agentbridge.models import Incident, Resume, Run
from agentbridge.views import rows
from agentbridge.views.rows import RunRow
from agentbridge.wording import DELIVERY, Sign
from approvals import jsontext
from approvals.fields import text_of
from approvals.models import AuditEntry, Case, User
from approvals.trail.record import Record, data


@dataclass(frozen=True, kw_only=True)
class Part:
    """One piece of what left as an answer, under the name of where it stands in the request."""

    name: str
    text: str
    size: int


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One POST with everything the trail tells of it."""

    row: RunRow
    entries: Sequence[AuditEntry]

    @property
    def last(self) -> AuditEntry | None:
        return self.entries[-1] if self.entries else None


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """One sealed set of answers and how it was delivered."""

    resume: Resume
    sign: Sign
    parts: Sequence[Part]  # none: erased
    signed: Sequence[Said]
    went_along: bool  # or they were kept here alone
    entry: AuditEntry | None
    attempts: Sequence[Attempt]


@dataclass(frozen=True, kw_only=True)
class WhatWasSent:
    sealed: Sequence[Sealed]
    asked_by: Sequence[RunRow]  # the run that asked
    incidents: Sequence[Incident]
    moves: Sequence[AuditEntry]  # what people did about the delivery


def read(user: User, record: Record) -> WhatWasSent:
    """For a person who sees only some tasks nothing of the sealed bytes is read: they hold all answers."""
    case, told = record.case, by_run(record.entries)
    asked = Run.objects.filter(interrupts__task__case=case).values("pk")
    seen = visibility.runs(user).select_related("thread__agent")
    return WhatWasSent(
        sealed=[sealed(resume, record, told, seen) for resume in resumes(case)] if record.is_whole else [],
        asked_by=[rows.of_run(run) for run in seen.filter(pk__in=asked).order_by("pk")],
        incidents=list(
            visibility.incidents(user).filter(case=case).select_related("task", "case", "closed_by").order_by("pk")
        ),
        moves=[entry for entry in record.entries if entry.verb.startswith("delivery.") and entry.actor_id],
    )


def resumes(case: Case) -> QuerySet[Resume]:
    return case.resumes.select_related("agent").order_by("n")


def sealed(resume: Resume, record: Record, told: dict[str, list[AuditEntry]], seen: QuerySet[Run]) -> Sealed:
    runs = seen.filter(resume=resume).order_by("attempt", "pk")
    went_along, signed = receipts.statements(resume)
    tellers = (one for one in record.of_verbs("resume.sealed") if data(one).get("sha256") in (resume.sha256, None))
    return Sealed(
        resume=resume,
        sign=DELIVERY[resume.state],
        parts=list(parts(resume)),
        signed=signed,
        went_along=went_along,
        entry=next(tellers, None),
        attempts=[Attempt(row=rows.of_run(run), entries=told.get(run.run_id, [])) for run in runs],
    )


def parts(resume: Resume) -> list[Part]:
    pieces = (
        ("resume", bytes(resume.entries)), ("forwardedProps", bytes(resume.forwarded_props)),
        ("messages", bytes(resume.messages)),
    )  # fmt: skip
    return [Part(name=name, text=text_of(piece), size=len(piece)) for name, piece in pieces if piece]


def by_run(entries: Sequence[AuditEntry]) -> dict[str, list[AuditEntry]]:
    """What the trail tells of each run, by its id; names that were erased find nothing."""
    found: dict[str, list[AuditEntry]] = defaultdict(list)
    for entry in entries:
        if entry.refs is not None and entry.verb.startswith(("run.", "delivery.")):
            run_id = jsontext.loads(entry.refs).get("runId")
            if run_id:
                found[run_id].append(entry)
    return found

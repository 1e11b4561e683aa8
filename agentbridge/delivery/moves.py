"""The state table of a delivery, and the one way to take a step in it.

A step is a conditional update: of two that try, one wins. It writes its entry in the same transaction (promise 6).
`held` and `ready` before sealing are computed from the case and are not in this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from agentbridge import trail
from agentbridge.models import DeliveryState as S
from agentbridge.models import Resume, Run
from approvals.models import User

# What may follow what. IN_DOUBT is reached from ARMED, or from a resend that can no longer be made.
MOVES: Mapping[str, frozenset[str]] = {
    S.READY: frozenset({S.LEASED, S.EXPIRED_UNSENT, S.DEAD, S.ABANDONED}),
    S.LEASED: frozenset({S.READY, S.ARMED, S.EXPIRED_UNSENT, S.DEAD, S.ABANDONED}),
    S.ARMED: frozenset({S.READY, S.ACCEPTED, S.AGENT_ERROR, S.REJECTED, S.IN_DOUBT, S.DEAD}),
    S.ACCEPTED: frozenset({S.READY, S.FINISHED, S.INTERRUPTED_AGAIN, S.AGENT_ERROR, S.OUTCOME_UNKNOWN}),
    # Late evidence: a worker that others had given up may see its run begin and end, or know that it sent nothing.
    S.IN_DOUBT: frozenset({S.READY, S.ACCEPTED, S.AGENT_ERROR, S.REJECTED, S.MARKED_DONE, S.ABANDONED}),
    S.OUTCOME_UNKNOWN: frozenset(
        {S.READY, S.FINISHED, S.INTERRUPTED_AGAIN, S.AGENT_ERROR, S.MARKED_DONE, S.ABANDONED}
    ),
    S.AGENT_ERROR: frozenset({S.READY, S.MARKED_DONE, S.ABANDONED}),
    S.REJECTED: frozenset({S.READY, S.MARKED_DONE, S.ABANDONED}),
    S.DEAD: frozenset({S.READY, S.MARKED_DONE, S.ABANDONED}),
    S.FINISHED: frozenset(),
    S.INTERRUPTED_AGAIN: frozenset(),
    S.EXPIRED_UNSENT: frozenset(),
    S.MARKED_DONE: frozenset(),
    S.ABANDONED: frozenset(),
}
# Nobody heard of an attempt any more, so that it may be made again, and now its end is here after all.
LATE = frozenset({S.FINISHED, S.INTERRUPTED_AGAIN, S.AGENT_ERROR, S.REJECTED})
IN_FLIGHT = (S.LEASED, S.ARMED, S.ACCEPTED)
FREE: Mapping[str, Any] = {"lease_owner": "", "lease_until": None}  # what leaving the flight sets


class IllegalMove(Exception):
    """The table does not know this step: a defect of ours, never a race."""


class Lost(Exception):
    """Somebody else was first: the row is no longer as this caller saw it."""


def following(resume: Resume) -> frozenset[str]:
    """Where it may go from here: the table, and what only a delivery that was armed before can turn out to be."""
    late = LATE if resume.state == S.READY and resume.armed_once else frozenset[str]()
    return MOVES[resume.state] | late


def move(resume: Resume, to: str, *, sentence: str, now: datetime, actor: User | None = None, run: Run | None = None,
         fenced: bool = True, data: dict[str, Any] | None = None, **changes: Any) -> None:
    """Take one step and write its entry. Raises `Lost` when state or fence changed since `resume` was read."""
    if to not in following(resume):
        raise IllegalMove(f"{resume.state} → {to}")
    changes = {
        "state": to, "changed_at": now, "note": sentence, "resend_asked_by": None, **({} if to in IN_FLIGHT else FREE),
        **changes,
    }  # fmt: skip
    with transaction.atomic():
        seen = Resume.objects.filter(pk=resume.pk, state=resume.state, replaced_at=None)
        if not (seen.filter(fence=resume.fence) if fenced else seen).update(**changes):
            raise Lost(resume)
        told = {"from": resume.state, "to": to, "n": resume.n, "sha256": resume.sha256, **(data or {})}
        for name, value in changes.items():
            setattr(resume, name, value)
        trail.of_resume(f"delivery.{to}", sentence, resume=resume, run=run, actor=actor, data=told, now=now)

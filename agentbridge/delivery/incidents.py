"""Incidents: what happened is not what was decided. Opened by the bridge, closed by a person who looked at it."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from agentbridge import trail
from agentbridge.models import Incident, Run
from approvals import audit, locking
from approvals.models import Case, Task, User
from approvals.refusals import WrongState


@transaction.atomic
def open_one(
    case: Case, kind: str, text: str, *, task: Task | None = None, run: Run | None = None,
    tool_call_id: str | None = None, now: datetime,
) -> Incident:  # fmt: skip
    """Put it on the case, once per kind, task and run: a stream that is read again opens nothing new."""
    found = Incident.objects.filter(case=case, kind=kind, task=task, run=run).first()
    if found is not None:
        return found
    incident = Incident.objects.create(
        case=case, task=task, run=run, kind=kind, tool_call_id=tool_call_id, text=text, opened_at=now
    )
    refs = trail.refs_of_run(run) if run else None
    data = {"incident": incident.pk, "kind": kind, "toolCallId": tool_call_id}
    audit.record("incident.opened", f"Incident: {text}", case=case, task=task, refs=refs, data=data, now=now)
    return incident


@transaction.atomic
def close(incident: Incident, *, by: User, reason: str, now: datetime) -> None:
    """Raises `NotAllowed` for all but operators, `Invalid` without a reason, `WrongState` for the second one."""
    by = locking.locked_operator(by, reason)
    closed = Incident.objects.filter(pk=incident.pk, closed_at__isnull=True)
    if not closed.update(closed_at=now, closed_by=by, reason=reason):
        raise WrongState(_("This incident is closed already."))
    audit.record(
        "incident.closed", f"{by.display_name} closed an incident: {reason}", actor=by, case=incident.case,
        task=incident.task, data={"incident": incident.pk, "kind": incident.kind}, now=now,
    )  # fmt: skip

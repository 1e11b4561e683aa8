"""Legal holds: while one is on a case, its queue or its agent, nothing of its conversation is erased."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from approvals import audit, locking, permissions
from approvals.models import Case, Hold, Queue, Task, User
from approvals.models.people import Role
from approvals.refusals import Invalid, NotAllowed, WrongState
from approvals.schemas import Problem

audit.register("hold.placed", "hold.lifted")


def may_place(user: User) -> str | None:
    """Keeping harms nobody: whoever audits may do it too."""
    allowed = (Role.AUDITOR, Role.ADMIN)
    return None if permissions.role_of(user) in allowed else _("Only auditors and administrators place a hold.")


def may_lift(user: User) -> str | None:
    return permissions.may_administer(user)


def in_force() -> QuerySet[Hold]:
    found = Hold.objects.filter(lifted_at__isnull=True)
    return found.select_related("case", "queue", "by").order_by("pk")


def on(cases: Sequence[Case]) -> Hold | None:
    """The oldest hold that is on any of these cases."""
    queues = Task.objects.filter(case__in=cases).values("queue")
    agents = {case.agent for case in cases}
    return in_force().filter(Q(case__in=cases) | Q(queue__in=queues) | Q(agent__in=agents - {""})).first()


@transaction.atomic
def place(
    *, case: Case | None = None, queue: Queue | None = None, agent: str = "", reason: str, by: User, now: datetime
) -> Hold:
    """On one case, one queue or one agent. Raises NotAllowed, Invalid."""
    by = locking.locked_person(by)
    if sentence := may_place(by):
        raise NotAllowed(sentence)
    if [bool(case), bool(queue), bool(agent)].count(True) != 1:
        raise Invalid([Problem("/on", _("Name one case, one queue or one agent."))])
    if not reason.strip():
        raise Invalid([Problem("/reason", _("Say why it must be kept."))])
    hold = Hold.objects.create(case=case, queue=queue, agent=agent, reason=reason.strip(), by=by, at=now)
    what = case.code if case else f"queue “{queue.name}”" if queue else f"agent {agent}"
    data = {"hold": hold.pk, "queue": queue.name if queue else None, "agent": agent or None, "reason": hold.reason}
    sentence = f"{by.display_name} placed a legal hold on {what}."
    audit.record("hold.placed", sentence, actor=by, case=case, agent=agent, refs=None if case else {}, data=data,
                 now=now)  # fmt: skip
    return hold


@transaction.atomic
def lift(hold: Hold, *, because: str, by: User, now: datetime) -> None:
    """Raises NotAllowed, Invalid, WrongState."""
    by = locking.locked_person(by)
    if sentence := may_lift(by):
        raise NotAllowed(sentence)
    if not because.strip():
        raise Invalid([Problem("/because", _("Say why it may be lifted."))])
    told = {"lifted_by": by, "lifted_at": now, "lifted_because": because.strip()}
    if not in_force().filter(pk=hold.pk).update(**told):
        raise WrongState(_("This hold is lifted."))
    sentence = f"{by.display_name} lifted a legal hold: {because.strip()}"
    audit.record("hold.lifted", sentence, actor=by, case=hold.case, agent=hold.agent, data={"hold": hold.pk},
                 refs=None if hold.case else {}, now=now)  # fmt: skip

"""Four eyes: an auditor or an administrator asks that a conversation be erased, another administrator does it.

An erasure covers the whole conversation: later cases carry what was said before. It is asked for on one case of it.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from approvals import audit, locking, permissions
from approvals.erasing import holding
from approvals.models import Case, Erasure, User
from approvals.models.cases import State
from approvals.models.people import Role
from approvals.refusals import Invalid, NotAllowed, WrongState
from approvals.schemas import Problem

ASKERS = (Role.AUDITOR, Role.ADMIN)
OVER = (State.DELIVERED, State.WITHDRAWN)

audit.register("erasure.asked", "erasure.refused")


def may_read(user: User) -> str | None:
    return None if permissions.sees_all(user) else _("Erasing is for auditors, operators and administrators.")


def may_ask(user: User) -> str | None:
    return None if permissions.role_of(user) in ASKERS else _("Only auditors and administrators ask for an erasure.")


def may_do(user: User, erasure: Erasure) -> str | None:
    """An administrator who did not ask for it."""
    if permissions.role_of(user) != Role.ADMIN:
        return _("Only administrators erase.")
    return _("Whoever asked does not do it: four eyes.") if erasure.asked_by_id == user.pk else None


def conversation(case: Case) -> QuerySet[Case]:
    """All cases that are erased together."""
    if not case.thread_key:
        return Case.objects.filter(pk=case.pk)
    return Case.objects.filter(agent=case.agent, thread_key=case.thread_key)


def waiting() -> QuerySet[Erasure]:
    """Asked for, neither done nor refused."""
    asked = Erasure.objects.filter(done_at__isnull=True, refused_at__isnull=True)
    return asked.select_related("case", "asked_by").order_by("pk")


def done_of(case: Case) -> Erasure | None:
    """The last erasure that took this case's content."""
    found = Erasure.objects.filter(case__in=conversation(case), done_at__gte=case.opened_at)
    return found.select_related("asked_by", "done_by").order_by("-done_at").first()


def in_the_way(case: Case) -> str | None:
    """Why this conversation cannot be erased now; None when nothing is in the way."""
    for one in conversation(case).order_by("pk"):
        if one.state not in OVER:
            return _("%(code)s has not ended: nothing of its conversation is erased before.") % {"code": one.code}
    if done_of(case):
        return _("Its content was erased already.")
    hold = holding.on(list(conversation(case)))
    return _("A legal hold is on it: %(reason)s") % {"reason": hold.reason} if hold else None


@transaction.atomic
def ask(case: Case, *, reason: str, basis: str, by: User, now: datetime) -> Erasure:
    """Raises NotAllowed, Invalid (no reason or legal basis), WrongState (not over, held, asked for already)."""
    case = locking.locked_case(case)
    by = locking.locked_person(by)
    if sentence := may_ask(by):
        raise NotAllowed(sentence)
    given = {"/reason": reason.strip(), "/basis": basis.strip()}
    problems = [Problem(pointer, _("Say why, and on what legal basis.")) for pointer, text in given.items() if not text]
    if problems:
        raise Invalid(problems)
    if sentence := in_the_way(case):
        raise WrongState(sentence)
    if waiting().filter(case__in=conversation(case)).exists():
        raise WrongState(_("This is asked for already."))
    erasure = Erasure.objects.create(
        case=case, reason=given["/reason"], basis=given["/basis"], asked_by=by, asked_at=now
    )
    data = {"erasure": erasure.pk, "reason": erasure.reason, "basis": erasure.basis}
    sentence = f"{by.display_name} asked to erase the content of {case.code} and its conversation."
    audit.record("erasure.asked", sentence, actor=by, case=case, data=data, now=now)
    return erasure


@transaction.atomic
def refuse(erasure: Erasure, *, because: str, by: User, now: datetime) -> None:
    """An administrator says no; the asker may take it back so too. Raises NotAllowed, Invalid, WrongState."""
    by = locking.locked_person(by)
    own = erasure.asked_by_id == by.pk
    if not own and (sentence := may_do(by, erasure)):
        raise NotAllowed(sentence)
    if not because.strip():
        raise Invalid([Problem("/because", _("Say why not."))])
    told = {"refused_by": by, "refused_at": now, "refused_because": because.strip()}
    if not waiting().filter(pk=erasure.pk).update(**told):
        raise WrongState(_("This is done or refused already."))
    sentence = f"{by.display_name} refused to erase {erasure.case.code}: {because.strip()}"
    data = {"erasure": erasure.pk, "because": because.strip()}
    audit.record("erasure.refused", sentence, actor=by, case=erasure.case, data=data, now=now)

"""What happens to a case as a whole after people answered, or because nobody asks any more.

`take`, `take_expired`, `mark_sent` and `mark_delivered` are for whoever carries the answers away; the rest is done by
or to people.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from approvals import audit, clock, locking
from approvals.models import Case, Task, User
from approvals.models.cases import EndedBecause, State
from approvals.refusals import Expired, NotDue, WrongState


@transaction.atomic
def take(case: Case, *, now: datetime) -> None:
    """Take a due case: from here on its decisions are final. Of many takers one wins; the others get NotDue."""
    if not Case.objects.due(clock.at_least(now)).filter(pk=case.pk).update(taken_at=now):
        raise NotDue(_("%(code)s is not due.") % {"code": case.code})
    audit.record("case.taken", f"The answers of {case.code} are final.", case=case, now=now)


@transaction.atomic
def take_expired(case: Case, *, by: User, reason: str, now: datetime) -> None:
    """An operator closes a case whose time has run out: what was answered in time counts, the rest is cancelled.

    Raises NotAllowed, Invalid, WrongState for a case that has not expired.
    """
    case = locking.locked_case(case)
    by = locking.locked_operator(by, reason)
    settled = {"state": State.SETTLED, "settled_at": case.settled_at or now, "deliver_after": case.deliver_after or now}
    if not Case.objects.expired(clock.at_least(now)).filter(pk=case.pk).update(taken_at=now, **settled):
        raise WrongState(_("%(code)s has not expired.") % {"code": case.code})
    Task.objects.filter(case=case, state=State.OPEN).update(state=State.SETTLED, claimed_by=None, claimed_at=None)
    said = f"{case.code} is closed: answers in time go out, the rest is cancelled." + _said(by, reason)
    audit.record("case.taken", said, actor=by, case=case, data={"reason": reason, "expired": True}, now=now)


@transaction.atomic
def mark_sent(case: Case, *, now: datetime, late: bool = False) -> None:
    """From here on bytes may have left, so the case can no longer expire; later attempts change nothing here.

    `late`: what goes out is what `take_expired` left of it. Raises Expired when it is too late, WrongState for a case
    that nobody took.
    """
    case = locking.locked_case(case)
    if case.state != State.SETTLED or case.taken_at is None:
        raise WrongState(_("%(code)s was not taken.") % {"code": case.code})
    if case.sent_at:
        return
    sendable = Case.objects.all() if late else Case.objects.unexpired(clock.at_least(now))
    if not sendable.filter(pk=case.pk, sent_at__isnull=True).update(sent_at=now):
        raise Expired(_("Time ran out before anything was sent."))
    audit.record("case.sent", f"The answers of {case.code} may have left.", case=case, now=now)


@transaction.atomic
def mark_delivered(case: Case, *, now: datetime) -> None:
    """The other side has the answers. Raises WrongState unless the case is settled and taken."""
    taken = Case.objects.filter(pk=case.pk, state=State.SETTLED, taken_at__isnull=False)
    if not taken.update(state=State.DELIVERED, ended_at=now):
        raise WrongState(_("%(code)s is not on its way.") % {"code": case.code})
    audit.record("case.delivered", f"The answers of {case.code} were delivered.", case=case, now=now)


@transaction.atomic
def withdraw(case: Case, *, because: str, by: User | None = None, reason: str = "", now: datetime) -> None:
    """End a case that nobody asks any more; `because` is an EndedBecause. A person must be an operator with a reason.

    Raises NotAllowed, Invalid, WrongState (delivered or withdrawn already).
    """
    case = locking.locked_case(case)
    by = by and locking.locked_operator(by, reason)
    endable = Case.objects.filter(pk=case.pk, state__in=[State.OPEN, State.SETTLED, State.QUARANTINED])
    if not endable.update(state=State.WITHDRAWN, ended_because=because, ended_at=now):
        raise WrongState(_("%(code)s has ended: it is %(state)s.") % _named(case))
    case.tasks.update(state=State.WITHDRAWN, claimed_by=None, claimed_at=None)
    audit.record(
        "case.withdrawn",
        f"{case.code} ended: {_ENDED[EndedBecause(because)]}." + _said(by, reason),
        actor=by,
        case=case,
        data={"because": because, "reason": reason},
        now=now,
    )


@transaction.atomic
def block(case: Case, *, sentence: str, now: datetime) -> None:
    """Say why nothing can be sent; nothing is until a person acts. Raises WrongState for a case that ended."""
    case = locking.locked_case(case)
    if case.state not in (State.OPEN, State.SETTLED):
        raise WrongState(_("%(code)s has ended: it is %(state)s.") % _named(case))
    if case.blocked == sentence:
        return
    Case.objects.filter(pk=case.pk).update(blocked=sentence)
    audit.record("case.blocked", f"Nothing can be sent for {case.code}: {sentence}", case=case, now=now)


@transaction.atomic
def unblock(case: Case, *, by: User, reason: str, now: datetime) -> None:
    """An operator says that what was in the way is gone. Raises NotAllowed, Invalid, WrongState."""
    case = locking.locked_case(case)
    by = locking.locked_operator(by, reason)
    if not Case.objects.filter(pk=case.pk).exclude(blocked="").update(blocked=""):
        raise WrongState(_("Nothing is in the way of %(code)s.") % {"code": case.code})
    data = {"was": case.blocked, "reason": reason}
    audit.record(
        "case.unblocked", f"{case.code} may go on." + _said(by, reason), actor=by, case=case, data=data, now=now
    )


def ask_again(case: Case, tasks: Sequence[Task], *, by: User | None = None, now: datetime) -> None:
    """Open tasks, and with them their case, that had an answer; the caller has locked the case and says why.

    What kept those answers from being sealed was said of them, so it is in the way no longer.
    """
    Task.objects.filter(pk__in=[task.pk for task in tasks], state=State.SETTLED).update(state=State.OPEN)
    settled = Case.objects.filter(pk=case.pk, state=State.SETTLED, taken_at__isnull=True)
    if not settled.update(state=State.OPEN, settled_at=None, deliver_after=None):
        return
    if Case.objects.filter(pk=case.pk).exclude(blocked="").update(blocked=""):
        said = f"{case.code} is open again: what was in the way of its answers went with them."
        audit.record("case.unblocked", said, actor=by, case=case, data={"was": case.blocked}, now=now)


@transaction.atomic
def accept(case: Case, *, by: User, reason: str, now: datetime) -> None:
    """An operator lets people answer a quarantined case. Raises NotAllowed, Invalid, WrongState."""
    case = locking.locked_case(case)
    by = locking.locked_operator(by, reason)
    if not Case.objects.filter(pk=case.pk, state=State.QUARANTINED).update(state=State.OPEN):
        raise WrongState(_("%(code)s is not in quarantine.") % {"code": case.code})
    Task.objects.filter(case=case, state=State.QUARANTINED).update(state=State.OPEN)
    said = f"{case.code} can be answered although it came after an error." + _said(by, reason)
    audit.record("case.accepted", said, actor=by, case=case, data={"reason": reason}, now=now)


def _named(case: Case) -> dict[str, str]:
    return {"code": case.code, "state": str(case.get_state_display())}


def _said(by: User | None, reason: str) -> str:
    return f" {by.display_name}: {reason}" if by else ""


_ENDED = {
    EndedBecause.SUPERSEDED: "a later run asked again",
    EndedBecause.ANSWERED_ELSEWHERE: "it was answered elsewhere",
    EndedBecause.ANSWERED_AGAIN: "it is answered again in another case",
    EndedBecause.ABANDONED: "it was abandoned",
}

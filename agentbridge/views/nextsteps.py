"""What happens next to a delivery, and by whom: for an operator who wonders whether to wait or to act."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from agentbridge import wording
from agentbridge.models import DeliveryState, Resume
from agentbridge.models.delivery import FINAL, WAITING
from agentbridge.wording import Sign
from approvals.models import Case

ON_ITS_WAY = (DeliveryState.ARMED, DeliveryState.ACCEPTED)


def of(case: Case, resume: Resume | None, sign: Sign, now: datetime) -> str:
    """One sentence; "" where nothing more happens."""
    if sign is wording.QUARANTINED:
        return _("An operator opens it for review, or gives it up.")
    if sign in (wording.EXPIRED, wording.DELIVERY[DeliveryState.EXPIRED_UNSENT]) and case.is_expired(now):
        return _("An operator closes it.")
    if sign is wording.BLOCKED:
        return _("An operator removes what is in the way, or gives it up.")
    if resume is None:
        return _unsealed(case, now)
    if resume.resend_asked_by_id is not None:
        return _("Another operator agrees to send it again, or settles it otherwise.")
    if resume.state in WAITING:
        return _("A person settles it. Nothing is sent by itself.")
    if resume.state in FINAL:
        return ""
    return _ready(resume, now) if resume.state == DeliveryState.READY else _under_way(resume, now)


def _unsealed(case: Case, now: datetime) -> str:
    if case.deliver_after is not None and now < case.deliver_after:
        return _("Leaves at %(at)s, unless its author takes it back.") % {"at": clock(case.deliver_after, now)}
    return _("A worker seals it and sends it.")


def _ready(resume: Resume, now: datetime) -> str:
    if not resume.agent.enabled:
        return _("Nothing is sent while the agent is switched off.")
    if resume.next_try_at is not None and now < resume.next_try_at:
        return _("Tried again at %(at)s.") % {"at": clock(resume.next_try_at, now)}
    return _("The next free worker sends it.")


def _under_way(resume: Resume, now: datetime) -> str:
    """A run is read to its end; the limit says until when at most."""
    armed = next((run.armed_at for run in resume.attempts.all() if run.armed_at and run.ended_at is None), None)
    if resume.state not in ON_ITS_WAY or armed is None:
        return ""
    until = armed + timedelta(seconds=settings.RUN_SECONDS)
    return _("Read to the end of its run, until %(at)s at most.") % {"at": clock(until, now)}


def clock(at: datetime, now: datetime) -> str:
    """To the second, in the reader's zone, with the day when it is not today."""
    local, day = localtime(at), _("j M")
    told = f"{date_format(local, 'H:i:s')} {local.tzname()}"
    return told if local.date() == localtime(now).date() else f"{date_format(local, day)}, {told}"

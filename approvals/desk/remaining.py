"""Time left, in the words of the desk: whole minutes until the last two, then with seconds. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

SOON_SECONDS = 10 * 60
NOW_SECONDS = 2 * 60


@dataclass(frozen=True, slots=True)
class Left:
    level: str  # "", "soon", "now", "over", "none": the class that repeats what the words say
    words: str


def until(at: datetime | None, *, now: datetime) -> Left:
    """What to say about a deadline; `static/js/relative-time.js` ticks by the same rules."""
    if at is None:
        return Left("none", _("no deadline"))
    seconds = int((at - now).total_seconds())
    if seconds <= 0:
        return Left("over", _("time is over"))
    if seconds < 60:
        return Left("now", _("%(s)d s") % {"s": seconds})
    if seconds <= NOW_SECONDS:
        return Left("now", _("%(m)d min %(s)d s") % {"m": seconds // 60, "s": seconds % 60})
    return Left("soon" if seconds <= SOON_SECONDS else "", words(seconds))


def words(seconds: int) -> str:
    """Rounded down: nobody is promised more time than there is."""
    minutes = seconds // 60
    if minutes < 60:
        return _("%(m)d min") % {"m": minutes}
    if minutes < 24 * 60:
        return _("%(h)d h %(m)d min") % {"h": minutes // 60, "m": minutes % 60}
    return _("%(d)d d %(h)d h") % {"d": minutes // 1440, "h": minutes // 60 % 24}

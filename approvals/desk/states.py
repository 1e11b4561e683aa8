"""How a state of a task or case looks: an icon and a word; the tone only repeats them."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Look:
    icon: str
    tone: str
    word: str | Promise


LOOKS = {
    "open": Look("dot", "tag-act", _("open")),
    "settled": Look("check", "", _("decided")),
    "delivered": Look("check", "tag-yes", _("delivered")),
    "expired": Look("clock", "tag-warn", _("expired")),
    "withdrawn": Look("slash", "", _("withdrawn")),
    "quarantined": Look("stop", "tag-no", _("quarantined")),
    "blocked": Look("stop", "tag-no", _("blocked")),
    "approved": Look("check", "", _("approved")),
    "edited": Look("pen", "tag-edit", _("approved with edits")),
    "rejected": Look("cross", "", _("rejected")),
    "answered": Look("form", "", _("answered")),
    "cancelled": Look("slash", "", _("cancelled")),
}


def look(name: str) -> Look:
    """A state unknown here is shown by its own name: unknown is said, never dressed up."""
    return LOOKS.get(name) or Look("doubt", "tag-warn", name)

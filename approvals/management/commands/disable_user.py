from __future__ import annotations

from approvals.management.switching import SwitchCommand
from approvals.verbs import staffing


class Command(SwitchCommand):
    help = "Disables a person: signed out at once, tokens revoked, what they hold is free. Their decisions stay."
    deed = staffing.disable
    done = "disabled"

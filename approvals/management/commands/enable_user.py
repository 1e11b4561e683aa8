from __future__ import annotations

from approvals.management.switching import SwitchCommand
from approvals.verbs import staffing


class Command(SwitchCommand):
    help = "Enables a person again: they sign in with the password they had; tokens are made anew."
    deed = staffing.enable
    done = "enabled"

"""The verbs of review, and why they refuse. Each is one transaction: rights, conditional change, entry.

Everybody else calls `reviewing.decide(...)`; the parts below are split by meaning only.
"""

from approvals.refusals import (
    AlreadyDecided,
    Blocked,
    Changed,
    Expired,
    Invalid,
    NotAllowed,
    NotDue,
    Quarantined,
    Refused,
    Taken,
    Withdrawn,
    WrongState,
)
from approvals.verbs.casework import accept, block, mark_delivered, mark_sent, take, take_expired, unblock, withdraw
from approvals.verbs.claiming import claim, release
from approvals.verbs.deciding import decide, recall
from approvals.verbs.evidence import add_flag, conclude, record_results

__all__ = [
    "AlreadyDecided",
    "Blocked",
    "Changed",
    "Expired",
    "Invalid",
    "NotAllowed",
    "NotDue",
    "Quarantined",
    "Refused",
    "Taken",
    "Withdrawn",
    "WrongState",
    "accept",
    "add_flag",
    "block",
    "claim",
    "conclude",
    "decide",
    "mark_delivered",
    "mark_sent",
    "recall",
    "record_results",
    "release",
    "take",
    "take_expired",
    "unblock",
    "withdraw",
]

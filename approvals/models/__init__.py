"""What is stored about people, cases, decisions and the trail."""

from approvals.models.answers import StoredAnswer
from approvals.models.auditing import (
    Erasure,
    Finding,
    Hold,
    RetentionRule,
    Sample,
    SavedQuestion,
    Sighting,
)
from approvals.models.cases import Case, Decision, Exhibit, State, Task, Verdict
from approvals.models.desk import Draft, Mention, Note, Reading
from approvals.models.looking import FirstView, SavedView, SetAside
from approvals.models.masks import MaskRule
from approvals.models.people import ApiToken, Queue, User
from approvals.models.signing import Checkpoint, PublicKey
from approvals.models.trail import AuditEntry, AuditLog

__all__ = [
    "ApiToken",
    "AuditEntry",
    "AuditLog",
    "Case",
    "Checkpoint",
    "Decision",
    "Draft",
    "Erasure",
    "Exhibit",
    "Finding",
    "FirstView",
    "Hold",
    "MaskRule",
    "Mention",
    "Note",
    "PublicKey",
    "Queue",
    "Reading",
    "RetentionRule",
    "Sample",
    "SavedQuestion",
    "SavedView",
    "SetAside",
    "Sighting",
    "State",
    "StoredAnswer",
    "Task",
    "User",
    "Verdict",
]

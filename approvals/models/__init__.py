"""What is stored about people, cases, decisions and the trail."""

from approvals.models.answers import StoredAnswer
from approvals.models.cases import Case, Decision, Exhibit, State, Task, Verdict
from approvals.models.people import ApiToken, Queue, User
from approvals.models.trail import AuditEntry, AuditLog

__all__ = [
    "ApiToken",
    "AuditEntry",
    "AuditLog",
    "Case",
    "Decision",
    "Exhibit",
    "Queue",
    "State",
    "StoredAnswer",
    "Task",
    "User",
    "Verdict",
]

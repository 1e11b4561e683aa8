"""Reading the trail: who may read which entries, the filters, and the search for words."""

from __future__ import annotations

import hashlib
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from approvals import audit, permissions, trailindex
from approvals.models import AuditEntry, Task, User


def visible(user: User) -> QuerySet[AuditEntry]:
    """Auditors, operators and admins read all. Reviewers read what concerns their own tasks and themselves.

    Entries on no case are about a run or an agent: read by those who own every task of that conversation.
    """
    if permissions.sees_all(user):
        return AuditEntry.objects.all()
    own = permissions.visible_tasks(user)
    on_thread = Task.objects.filter(agent=OuterRef("agent"), thread_key=OuterRef("thread_key")).exclude(thread_key="")
    mine, foreign = on_thread.filter(pk__in=own.values("pk")), on_thread.exclude(pk__in=own.values("pk"))
    cases = permissions.visible_cases(user).values("pk")
    return AuditEntry.objects.filter(
        Q(task__in=own.values("pk"))
        | Q(task__isnull=True, case__in=cases)
        | Q(task__isnull=True, case__isnull=True, actor=user)
        | (Q(task__isnull=True, case__isnull=True) & Exists(mine) & ~Exists(foreign))
    )


def filtered(
    entries: QuerySet[AuditEntry], *, actor: str = "", verb: str = "", agent: str = "", thread: str = "",
    since: datetime | None = None, until: datetime | None = None, q: str = "",
) -> QuerySet[AuditEntry]:  # fmt: skip
    """Exactly these; `until` is not included. `q`: all of its words stand in the sentence, the names or the codes."""
    wanted = {
        "actor__username": actor, "verb": verb, "agent": agent, "at__gte": since, "at__lt": until,
        "thread_key": thread and hashlib.sha256(thread.encode("utf-8", "surrogatepass")).hexdigest(),
    }  # fmt: skip
    entries = entries.filter(**{name: value for name, value in wanted.items() if value})
    words = audit.cleaned(q).split()
    for word in words:
        entries = entries.filter(search_text__contains=word)
    return trailindex.narrowed(entries, words)

"""Reading the trail: who may read which entries, the filters, and the search for words."""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import datetime

from django.db.models import BigIntegerField, Exists, F, Max, Min, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from approvals import audit, permissions
from approvals.fields import START, Start
from approvals.models import AuditEntry, Case, Decision, Task, User
from approvals.models.cases import DecisionQuerySet
from approvals.trail import trailindex

READS = ("audit.searched", "case.shown", "case.viewed", "text.opened")  # what people looked at, not what they did
DECIDED = "task.decided"
FEW = 10_000  # who may read more finds a page of it soon by walking back from the end of the trail
ANY, OPEN, YES, NO = "any", "open", "yes", "no"


def visible(user: User) -> QuerySet[AuditEntry]:
    """Auditors, operators and admins read all. Reviewers read what concerns their own tasks and themselves.

    Entries on no case are about a run or an agent: read by those who own every task of that conversation.
    """
    if permissions.sees_all(user):
        return AuditEntry.objects.all()
    own = permissions.visible_tasks(user)
    here = {"agent": OuterRef("agent"), "thread_key": OuterRef("thread_key")}
    mine, foreign = own.filter(**here), Task.objects.filter(**here).exclude(pk__in=own.values("pk"))
    threads = own.exclude(thread_key="").values("thread_key")  # asked first: most entries are on none of these
    # Most of a trail is on no case, and no index should be asked for that: the planner does not look into this.
    apart = AuditEntry.objects.alias(on_case=Coalesce("case", Value(0)))
    return apart.filter(
        (Q(case__in=own.values("case")) & (Q(task__isnull=True) | Q(task__in=own.values("pk"))))
        | Q(on_case=0, actor=user)
        | (Q(on_case=0, thread_key__in=threads) & Exists(mine) & ~Exists(foreign))
    )


def narrowed(entries: QuerySet[AuditEntry], user: User) -> QuerySet[AuditEntry]:
    """Fewer entries to look through, of those that `visible` gave this person; none of them left out.

    Who may read little of a long trail would else have all of it walked through, for one page. Whatever they may read
    is on a case or a conversation with a task of theirs, or was done by them; more stands there, and stays hidden.
    """
    if permissions.sees_all(user):
        return entries
    own = permissions.visible_tasks(user)
    parts = (
        AuditEntry.objects.filter(case__in=own.values("case")),
        AuditEntry.objects.filter(thread_key__in=own.exclude(thread_key="").values("thread_key")),
        AuditEntry.objects.filter(actor=user),
    )
    first, *others = (part.order_by().values_list("seq", flat=True) for part in parts)
    theirs = list(first.union(*others, all=True)[: FEW + 1])
    return entries if len(theirs) > FEW else entries.filter(seq__in={*theirs})


def filtered(
    entries: QuerySet[AuditEntry], *, actor: str = "", verb: str = "", agent: str = "", thread: str = "",
    since: datetime | None = None, until: datetime | None = None, q: str = "", case: str = "", tool: str = "",
    queue: str = "", verdict: str = "", edited: str = "", incident: str = "", reads: str = YES,
) -> QuerySet[AuditEntry]:  # fmt: skip
    """Exactly these; `until` is not included. `q`: all of its words stand in the sentence, the names or the codes.

    `verdict` and `edited` (yes, no) leave the entries that say decided; `incident` (any, open) those of such cases.
    """
    wanted = {
        "verb": verb, "agent": agent, "at__gte": since, "at__lt": until, "thread_key": thread and key_of(thread),
        "actor": actor and _number(User.objects.filter(username=actor)),
        "case": case and _number(Case.objects.filter(code=case.upper())),
    }  # fmt: skip
    entries = entries.filter(**{name: value for name, value in wanted.items() if value})
    if since or until:
        entries = entries.filter(**_span(since, until))
    if tool or queue:
        those = tasks(Task.objects.all(), tool=tool, queue=queue)
        entries = entries.filter(task__in=those, seq__lte=_youngest(those))
    if verdict or edited:
        said = decisions(verdict=verdict, edited=edited).filter(task=OuterRef("task"), at=OuterRef("at"))
        entries = entries.filter(Exists(said), verb=DECIDED, seq__lte=_last_of(DECIDED))
    elif verb:
        entries = entries.filter(seq__lte=_last_of(verb))
    elif reads == NO:
        entries = entries.exclude(verb__in=READS)
    if incident:
        entries = entries.filter(case__in=with_incident(incident))
    words = audit.cleaned(q).split()
    for word in words:
        entries = entries.filter(search_text__contains=word)
    return trailindex.narrowed(entries, words)


def newest(entries: QuerySet[AuditEntry], *, most: int, before: int | None = None) -> list[AuditEntry]:
    """The last of them, newest first. Numbers first: a database sorts these, not whole entries."""
    found = entries if before is None else entries.filter(seq__lt=before)
    numbers = list(found.order_by("-seq").values_list("seq", flat=True)[:most])
    shown = AuditEntry.objects.filter(seq__in=numbers).select_related("actor", "case", "task")
    return list(shown.order_by("-seq"))


def _number(found: QuerySet[User] | QuerySet[Case]) -> Subquery:
    """The one number, known before the entries are read: then an index gives them in their order."""
    return Subquery(found.values("pk")[:1])


def _span(since: datetime | None, until: datetime | None) -> dict[str, int]:
    """From which number, and up to which, there are entries of this time: nobody need walk through all the others.

    Clocks differ, so these are sought among all. Adding nothing keeps databases at the index over time; for the lowest
    or highest number they would walk along the table.
    """
    wanted = {"at__gte": since, "at__lt": until}
    told = AuditEntry.objects.filter(**{name: value for name, value in wanted.items() if value})
    found = told.aggregate(first=Min(F("seq") + 0), last=Max(F("seq") + 0))
    first = {"seq__gte": found["first"] or BigIntegerField.MAX_BIGINT} if since else {}
    return first | ({"seq__lte": found["last"] or 0} if until else {})


def _last_of(verb: str) -> int:
    """Nobody need walk back from the end of the trail to a deed that was long not done.

    A range of one verb, in the order of both columns: for an equal one PostgreSQL would walk along the table itself.
    """
    told = AuditEntry.objects.filter(verb__range=(verb, verb)).order_by("-verb", "-seq")
    return told.values_list("seq", flat=True).first() or 0


def _youngest(tasks: QuerySet[Task]) -> int:
    """The same for a tool or a queue."""
    found = AuditEntry.objects.filter(task__in=tasks).aggregate(last=Max(F("seq") + 0))
    return found["last"] or 0


def tasks(
    among: QuerySet[Task], *, tool: str = "", queue: str = "", agent: str = "", thread: str = ""
) -> QuerySet[Task]:
    wanted = {"queue__name": queue, "agent": agent, "thread_key": thread and key_of(thread)}
    found = among.filter(**{name: value for name, value in wanted.items() if value})
    return named(found, tool) if tool else found


def named(tasks: QuerySet[Task], tool: str) -> QuerySet[Task]:
    """Those of this tool, by an index that no other question reads: the queue is read in its own order."""
    whole = tool.encode("utf-8", "surrogatepass")
    found = tasks.alias(tool_start=Start("tool")).filter(tool_start=whole[:START])
    return found if len(whole) < START else found.filter(tool=tool)


def decisions(*, verdict: str = "", edited: str = "") -> DecisionQuerySet:
    """Those of this verdict, with edits or without; recalled and voided ones too."""
    found = Decision.objects.filter(verdict=verdict) if verdict else Decision.objects.all()
    return found.filter(edits__isnull=edited == NO) if edited else found


def with_incident(which: str) -> list[int]:
    """Cases on which the trail tells of an incident; `open`: of one that nobody closed. They are few: read at once."""
    told = AuditEntry.objects.filter(verb__in=["incident.opened", "incident.closed"], case__isnull=False)
    left: Counter[int] = Counter()
    for case, verb in told.order_by().values_list("case_id", "verb"):
        left[case] += 1 if verb == "incident.opened" else -int(which == OPEN)
    return [case for case, number in left.items() if number > 0]


def key_of(text: str) -> str:
    """By which an id of any length is found: its SHA-256 in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

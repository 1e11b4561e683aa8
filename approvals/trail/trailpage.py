"""Entries of the trail as pages draw them: an icon, a tone and a name beside the sentence that was stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from approvals import jsontext
from approvals.models import AuditEntry, Case, Task, User
from approvals.trail import trailsearch

# By the verb or by its noun; the last part of a decided entry is its verdict.
LOOKS = {
    "case.opened": ("doc", ""),
    "case.shown": ("eye", ""),
    "case.viewed": ("eye", ""),
    "text.opened": ("eye", ""),
    "case.settled": ("check", ""),
    "case.taken": ("seal", ""),
    "case.sent": ("send", ""),
    "case.delivered": ("check", "tag-yes"),
    "case.withdrawn": ("slash", "tag-warn"),
    "case.blocked": ("stop", "tag-no"),
    "case.accepted": ("shield", "tag-warn"),
    "case.recalled": ("undo", "tag-warn"),
    "task.opened": ("dot", "tag-act"),
    "task.claimed": ("eye", ""),
    "task.released": ("eye", ""),
    "task.taken_over": ("hand", "tag-warn"),
    "task.set_aside": ("clock", ""),
    "task.picked_up": ("retry", ""),
    "task.voided": ("undo", "tag-warn"),
    "task.flagged": ("flag", "tag-warn"),
    "task.result": ("tool", ""),
    "exhibit.changed": ("ne", "tag-warn"),
    "login.ok": ("key", ""),
    "login.failed": ("key", "tag-warn"),
    "incident.opened": ("warn", "tag-no"),
    "run.interrupted": ("pause", "tag-act"),
    "run.failed": ("cross", "tag-no"),
    "run.rejected": ("stop", "tag-no"),
    "run.truncated": ("doubt", "tag-warn"),
    "run.unknown": ("doubt", "tag-warn"),
    "delivery.in_doubt": ("doubt", "tag-warn"),
    "resume.sealed": ("seal", ""),
    "task.concluded": ("tool", ""),
}
NOUNS = {
    "case": "doc", "task": "check", "run": "play", "resume": "seal", "delivery": "send", "agent": "agent",
    "user": "person", "queue": "queue", "token": "key", "incident": "warn", "login": "key", "export": "download",
    "view": "filter", "note": "quote", "finding": "flag", "sample": "sum", "erasure": "trash", "hold": "shield",
    "question": "search", "rule": "clock", "desk": "gear",
}  # fmt: skip
MOST_AROUND = 50  # entries beside one task of a long case
REFUSED = ("stop", "tag-warn")  # of whatever noun: nothing came of it
VERDICTS = {
    "approved": ("check", ""), "rejected": ("cross", ""), "answered": ("form", ""), "cancelled": ("slash", ""),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    entry: AuditEntry
    icon: str
    tone: str
    who: str


def of_case(user: User, case: Case) -> list[Row]:
    """What this person may read about a case, oldest first."""
    return rows(_entries(user, case).order_by("seq"))


def around(user: User, task: Task) -> list[Row]:
    """The same where a case has hundreds of tasks: the newest of this task and of the case as a whole, oldest first."""
    near = _entries(user, task.case).filter(Q(task=task) | Q(task=None)).order_by("-seq")
    return rows(reversed(near[:MOST_AROUND]))


def _entries(user: User, case: Case) -> QuerySet[AuditEntry]:
    return trailsearch.visible(user).filter(case=case).select_related("actor", "task", "case")


def rows(entries: Iterable[AuditEntry]) -> list[Row]:
    return [Row(entry, *_look(entry), who=_who(entry)) for entry in entries]


def _look(entry: AuditEntry) -> tuple[str, str]:
    if entry.verb == "task.decided":
        return _verdict_look(entry)
    noun, _dot, deed = entry.verb.partition(".")
    said_no = REFUSED if deed in ("refused", "failed") else None
    return LOOKS.get(entry.verb) or said_no or (NOUNS.get(noun, "dot"), "")


def _verdict_look(entry: AuditEntry) -> tuple[str, str]:
    """By what the entry keeps; erased data leaves the plain sign."""
    told = jsontext.loads(entry.data) if entry.data is not None else {}
    if told.get("changedPaths"):
        return "pen", "tag-edit"
    return VERDICTS.get(told.get("verdict", ""), ("check", ""))


def _who(entry: AuditEntry) -> str:
    if entry.actor is not None:
        name = entry.actor.display_name
        return _("%(name)s, service") % {"name": name} if entry.actor_kind == "service" else name
    if entry.actor_kind in ("person", "service"):
        return _("a person no longer known by name")
    return {"agent": entry.agent or _("the agent"), "caller": _("the caller")}.get(entry.actor_kind, "Countersign")

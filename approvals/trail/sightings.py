"""What people look at is on record as well: who had which version of a case on screen, and what auditors opened.

Reviewers and operators leave one entry for each version they see (`case.shown`): it is what they decided on. Those who
only read, auditors and administrators, leave one for each time they open a case or ask a question to the trail.
Fragments that a page fetches again by itself are the same look. What such a person's program reads is on record too,
once a day for each case and each question: programs ask again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from approvals import acting, audit, jsontext, permissions
from approvals.models import AuditEntry, Case, Exhibit, Sighting, Task, User
from approvals.models.people import Role

READERS = (Role.AUDITOR, Role.ADMIN)
SAME_LOOK = timedelta(days=1)  # of a program
REMEMBERED = 50  # questions of a program that are compared with a new one
MOVING = ("since", "until")  # what a program that follows the trail changes from one question to the next

audit.register("case.shown", "case.viewed", "audit.searched")


def is_reader(user: User) -> bool:
    return permissions.role_of(user) in READERS


def opened(case: Case, tasks: Iterable[Task], *, by: User, page: str = "case", now: datetime) -> AuditEntry | None:
    """A person opened a case: `tasks` are those of it that they see whole. None when that was told before."""
    if not is_reader(by):
        return _shown(case, list(tasks), by, now)
    sentence = f"{by.display_name} opened {case.code}."
    return audit.record("case.viewed", sentence, actor=by, case=case, data={"page": page}, now=now)


def searched(told: Mapping[str, str], *, by: User, now: datetime) -> AuditEntry | None:
    """A reader asked the trail; None for those whose work it is not to read."""
    if not is_reader(by):
        return None
    asked = ", ".join(f"{name}: {text}" for name, text in told.items())
    sentence = f"{by.display_name} asked the trail for {asked}." if asked else f"{by.display_name} opened the trail."
    return audit.record("audit.searched", sentence, actor=by, refs={}, data={"asked": dict(told)}, now=now)


def read_by_program(case: Case, *, by: User, now: datetime) -> AuditEntry | None:
    """A program read a case in a reader's name. Before the answer is made: then the answer holds this look too."""
    looks = AuditEntry.objects.filter(case=case, actor=by, verb="case.viewed", at__gt=now - SAME_LOOK)
    if not is_reader(by) or looks.exists():
        return None
    with acting.by("token"):
        return opened(case, [], by=by, page="api", now=now)


def asked_by_program(told: Mapping[str, str], *, by: User, now: datetime) -> AuditEntry | None:
    """A program asked the trail in a reader's name; the same question from another moment on is the same."""
    if not is_reader(by):
        return None
    mine = AuditEntry.objects.filter(actor=by, verb="audit.searched").order_by("-seq")
    lately = (data or "{}" for at, data in mine.values_list("at", "data")[:REMEMBERED] if at > now - SAME_LOOK)
    if any(_standing(jsontext.loads(data).get("asked", {})) == _standing(told) for data in lately):
        return None
    with acting.by("token"):
        return searched(told, by=by, now=now)


def _standing(told: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in told.items() if name not in MOVING}


def cursor_after(cursor: int, entry: AuditEntry | None) -> int:
    """Where a page that was read at `cursor` and then left `entry` goes on listening, missing nothing."""
    return entry.seq if entry is not None and entry.seq == cursor + 1 else cursor


def _shown(case: Case, tasks: list[Task], by: User, now: datetime) -> AuditEntry | None:
    seen = set(Sighting.objects.filter(person=by, task__in=tasks).values_list("task_id", "digest"))
    fresh = [task for task in tasks if (task.pk, task.shown_digest) not in seen]
    if not fresh:
        return None
    with transaction.atomic():
        made = [Sighting(person=by, task=task, digest=task.shown_digest, at=now) for task in fresh]
        Sighting.objects.bulk_create(made, ignore_conflicts=True)
        sentence = f"{by.display_name} had {case.code} on screen."
        return audit.record("case.shown", sentence, actor=by, case=case, data={"shown": _told(fresh)}, now=now)


def _told(tasks: list[Task]) -> list[dict[str, Any]]:
    digests = [task.shown_digest for task in tasks]
    found = Exhibit.objects.filter(task__in=tasks, digest__in=digests).values_list("task_id", "digest", "version")
    versions = {(task, digest): version for task, digest, version in found}
    return [
        {"task": task.code, "version": versions.get((task.pk, task.shown_digest)), "shownDigest": task.shown_digest}
        for task in tasks
    ]

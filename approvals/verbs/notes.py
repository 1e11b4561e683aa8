"""Notes that people leave each other on a task. They stay inside: no note is ever part of an answer.

`@name` mentions a person, who then finds the note; naming somebody who may not see the task tells them nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from approvals import audit, locking, permissions
from approvals.models import Mention, Note, Task, User
from approvals.models.people import Role
from approvals.refusals import Invalid, NotAllowed
from approvals.schemas import Problem

LONGEST = 4_000  # characters
MENTION = re.compile(r"(?<![\w@])@([\w.+-]+(?:@[\w.-]+)?)")


def may_write(user: User) -> str | None:
    """None when this person may leave notes on what they see; else why not."""
    return None if permissions.role_of(user) in (Role.REVIEWER, Role.OPERATOR) else _("Only those who act leave notes.")


@transaction.atomic
def add(task: Task, *, by: User, text: str, now: datetime) -> Note:
    """Write a note and tell those it mentions. Raises NotAllowed, Invalid."""
    text = text.replace("\r\n", "\n").strip()
    _take(by, named(text[:LONGEST]))
    by = locking.locked_person(by)
    sentence = may_write(by)
    if sentence or not permissions.visible_tasks(by).filter(pk=task.pk).exists():
        raise NotAllowed(sentence or _("This task is not yours to see."))
    if not text or len(text) > LONGEST:
        raise Invalid([Problem("/note", _("A note has 1 to %d characters.") % LONGEST)])
    note = Note.objects.create(task=task, by=by, text=text, at=now)
    told = _tell(note, by, named(text))
    data = {"note": note.pk, "text": text, "mentions": [person.username for person in told]}
    said = f"{by.display_name} left a note on {task.code}."
    audit.record("note.added", said, actor=by, task=task, data=data, now=now)
    return note


def named(text: str) -> list[str]:
    """The names after an @, each once, in order; a full stop at the end belongs to the sentence."""
    return list(dict.fromkeys(name.rstrip(".-") for name in MENTION.findall(text)))


def _take(by: User, names: list[str]) -> None:
    """The author and those named, in the order in which everybody locks people: a change of rights may hold one."""
    people = User.objects.filter(Q(pk=by.pk) | Q(username__in=names)).order_by("pk")
    list(people.select_for_update(no_key=True).values_list("pk"))


def _tell(note: Note, by: User, names: list[str]) -> list[User]:
    """Those of the named who may see the task, but not its author."""
    people = User.objects.filter(username__in=names, is_active=True, is_service=False).exclude(pk=by.pk)
    told = [one for one in people if permissions.visible_tasks(one).filter(pk=note.task_id).exists()]
    Mention.objects.bulk_create([Mention(note=note, user=one) for one in told])
    User.objects.filter(pk__in=[one.pk for one in told]).update(unread_mentions=F("unread_mentions") + 1)
    return told


def of(tasks: Iterable[int]) -> QuerySet[Note]:
    """The notes on these tasks, oldest first."""
    return Note.objects.filter(task__in=tasks).select_related("by").order_by("pk")


def unread(user: User) -> QuerySet[Mention]:
    """Mentions that this person has not seen, of tasks that they may still see; newest first."""
    mine = Mention.objects.filter(user=user, seen_at__isnull=True, note__task__in=permissions.visible_tasks(user))
    return mine.select_related("note__by", "note__task__case").order_by("-pk")


def seen(user: User, tasks: Iterable[int], *, now: datetime) -> None:
    """The person has these tasks before them. Where nothing was unread, nothing is locked or written."""
    if not user.unread_mentions:
        return
    with transaction.atomic():
        Mention.objects.filter(user=user, note__task__in=tasks, seen_at__isnull=True).update(seen_at=now)
        User.objects.filter(pk=user.pk).update(unread_mentions=unread(user).count())

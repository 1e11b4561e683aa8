"""Long texts that a queue wants opened whole before anybody says yes to them (R-51). The trail is the proof.

A page holds the beginning of a long text and brings the rest on demand; a program gets it whole with the task. Where
the queue asks for it (`Queue.whole_text_first`), each opening by whoever may decide leaves an entry, and a yes without
one is refused. A no is never harder than anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals import audit, jsontext, permissions
from approvals.exhibits import Content
from approvals.foreign import folding
from approvals.kit import ANSWERED, APPROVED
from approvals.models import AuditEntry, Task, User
from approvals.models.cases import State
from approvals.refusals import Unread

MESSAGE, ARGUMENTS = "message", "arguments"
WORDS = {MESSAGE: gettext_lazy("what the agent says"), ARGUMENTS: gettext_lazy("the arguments")}
TOLD = {MESSAGE: "what the agent says", ARGUMENTS: "the arguments"}  # in the trail, which is in English

Opened = set[tuple[int, str, str]]  # task, part, digest of the exhibit

audit.register("text.opened")


def parts(task: Task, exhibit: Content) -> list[str]:
    """What has to be opened of a question; nothing where its queue does not ask for that."""
    if not task.queue.whole_text_first:
        return []
    folded = exhibit.message is not None and folding.is_folded(exhibit.message)
    long = exhibit.tool is not None and folding.is_long(exhibit.tool.args_text)
    return [MESSAGE] * folded + [ARGUMENTS] * long


def opened_by(user: User, tasks: Iterable[Task]) -> Opened:
    """What this person opened of these tasks; only those are looked up whose queue asks for it."""
    asking = [task.pk for task in tasks if task.queue.whole_text_first]
    if not asking:
        return set()
    entries = AuditEntry.objects.filter(task__in=asking, actor=user, verb="text.opened", data__isnull=False)
    told = ((entry.task_id or 0, jsontext.loads(entry.data or "{}")) for entry in entries.order_by("seq"))
    return {(pk, data["part"], data["shownDigest"]) for pk, data in told}


def left(task: Task, exhibit: Content, opened: Opened) -> list[str]:
    """What is still to be opened of what is asked now."""
    return [part for part in parts(task, exhibit) if (task.pk, part, task.shown_digest) not in opened]


def record(task: Task, exhibit: Content, given: Iterable[str], *, by: User, now: datetime) -> bool:
    """A person was given these parts whole. True if a yes needed that and this is the first time."""
    if task.state != State.OPEN or not permissions.can_claim(by, task) or not parts(task, exhibit):
        return False
    fresh = [part for part in left(task, exhibit, opened_by(by, [task])) if part in given]
    for part in fresh:
        said = f"{by.display_name} opened all of {TOLD[part]} in {task.code}."
        data = {"part": part, "shownDigest": task.shown_digest}
        audit.record("text.opened", said, actor=by, task=task, data=data, now=now)
    return bool(fresh)


def check(task: Task, exhibit: Content, verdict: str, *, by: User | None) -> None:
    """Raises Unread for a yes before everything was opened. A caller had all of it before we did."""
    if by is None or verdict not in (APPROVED, ANSWERED):
        return
    if missing := left(task, exhibit, opened_by(by, [task])):
        raise Unread(missing, sentence(missing))


def sentence(missing: Iterable[str]) -> str:
    """What is to be done before a yes; for the person."""
    return _("Open all of it before a yes: %(parts)s.") % {"parts": ", ".join(str(WORDS[part]) for part in missing)}

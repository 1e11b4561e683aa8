"""The front door: a pause becomes a case with a task for each question, frozen as it will be shown.

Called by whoever watches agents. `refs` are names and texts that this app prints and searches but does not understand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from django.db import transaction

from approvals import audit, exhibits, headlines, jsontext, locking
from approvals.foreign import hiding, masking
from approvals.kit import VerdictKit
from approvals.models import AuditEntry, Case, Exhibit, Queue, Task
from approvals.models.cases import State
from approvals.models.people import Role
from approvals.verbs import casework

Flag = Mapping[str, Any]
PORTION = 50  # questions that are written at once: an exhibit can be large


@dataclass(frozen=True, kw_only=True)
class NewTask:
    refs: dict[str, str | None]
    queue: Queue
    exhibit: exhibits.Content
    kit: VerdictKit
    deadline: datetime | None = None
    deadline_text: str = ""
    flags: Sequence[Flag] = ()
    asked_before: Task | None = None  # the same question, answered once already


@dataclass(frozen=True, kw_only=True)
class NewCase:
    agent: str
    thread_key: str
    refs: dict[str, str | None]
    tasks: Sequence[NewTask]
    previous: Case | None = None
    flags: Sequence[Flag] = ()
    blocked: str = ""  # why nothing can be sent, known from the start
    quarantined: bool = False  # visible, not answerable until an operator accepts it


@transaction.atomic
def open_case(new: NewCase, *, now: datetime) -> Case:
    """Store the case, its tasks and their exhibits. Raises ValueError for a case that asks nothing."""
    if not new.tasks:
        raise ValueError("a case asks at least one question")
    case = Case.objects.create(
        state=State.QUARANTINED if new.quarantined else State.OPEN,
        blocked=new.blocked,
        opened_at=now,
        deadline=min((task.deadline for task in new.tasks if task.deadline), default=None),
        previous=new.previous,
        refs=jsontext.dumps(new.refs),
        agent=new.agent,
        thread_key=new.thread_key,
        flags=[dict(flag) for flag in new.flags],
    )
    tasks = _open_tasks(case, new.tasks, now)
    agent = new.tasks[0].exhibit.agent_name
    last = audit.record(
        "case.opened",
        f"{agent} paused and asks {_count(len(tasks))}" + (f", but: {new.blocked}" if new.blocked else "."),
        case=case,
        data={"tasks": [task.code for task in tasks], "quarantined": new.quarantined, "flags": case.flags},
        now=now,
    )
    eligible = cache(_eligible)
    for task, asked in zip(tasks, new.tasks, strict=True):
        last = _record_opened(task, asked.exhibit, eligible(task.queue), after=last, now=now)
    return case


@transaction.atomic
def refreeze(task: Task, content: exhibits.Content, *, now: datetime, kit: VerdictKit | None = None) -> bool:
    """Freeze what the question turned out to be; False when it is what was shown already.

    The old version stays. A live decision made on it is voided and the task asked again, unless the answer was taken:
    then it stands, and whoever called opens an incident.
    """
    case, task = locking.locked(task)
    body, digest = exhibits.freeze(content)
    if digest == task.shown_digest:
        return False
    version = task.exhibits.count() + 1
    Exhibit.objects.create(task=task, version=version, body=body, digest=digest, frozen_at=now)
    before, task.shown_digest = task.shown_digest, digest
    _index(task, content, hiding.rules_for(task.queue, task.agent))
    task.kit = kit.to_json() if kit else task.kit
    task.flags = [*task.flags, *(dict(flag) for flag in content.flags if dict(flag) not in task.flags)]
    task.save(
        update_fields=["shown_digest", "agent_name", "reason", "tool", "headline", "search_text", "kit", "flags"]
    )
    voided = _void_decision(case, task, now)
    audit.record(
        "exhibit.changed",
        f"What {task.code} asks is not what was shown before.",
        task=task,
        data={"version": version, "before": before, "shownDigest": digest},
        now=now,
    )
    if voided:
        audit.record(
            "task.voided",
            f"The decision on {task.code} was made on something else: it counts no more, the task is open again.",
            task=task,
            data={"decision": voided},
            now=now,
        )
    return True


def _open_tasks(case: Case, new: Sequence[NewTask], now: datetime) -> list[Task]:
    """In portions: what is frozen for a thousand questions need not be in memory at once."""
    rules = cache(lambda queue: hiding.rules_for(queue, case.agent))
    tasks: list[Task] = []
    for first in range(0, len(new), PORTION):
        asked = new[first : first + PORTION]
        frozen = [exhibits.freeze(one.exhibit) for one in asked]
        made = [_task(case, first + n, one, frozen[n][1], rules(one.queue)) for n, one in enumerate(asked)]
        shown = [Exhibit(task=task, version=1, body=body, digest=digest, frozen_at=now)
                 for task, (body, digest) in zip(made, frozen, strict=True)]  # fmt: skip
        Task.objects.bulk_create(made)
        Exhibit.objects.bulk_create(shown)
        tasks += made
    return tasks


def _task(case: Case, position: int, new: NewTask, digest: str, rules: masking.Rules) -> Task:
    task = Task(
        case=case,
        position=position,
        asking=new.asked_before.asking + 1 if new.asked_before else 1,
        queue=new.queue,
        state=case.state,
        refs=jsontext.dumps(new.refs),
        agent=case.agent,
        thread_key=case.thread_key,
        deadline=new.deadline,
        deadline_text=new.deadline_text,
        due_at=case.deadline,
        shown_digest=digest,
        kit=new.kit.to_json(),
        flags=[dict(flag) for flag in new.flags],
    )
    _index(task, new.exhibit, rules)
    return task


def _index(task: Task, content: exhibits.Content, rules: masking.Rules) -> None:
    # Reason and tool stand in addresses too, where half a surrogate pair cannot.
    task.agent_name, task.reason = content.agent_name, jsontext.printable(content.reason)
    task.tool = jsontext.printable(content.tool.name) if content.tool else ""
    # Lists and search keep no secrets; the exhibit does, for those who decide.
    with masking.applying(rules):
        content = hiding.without_secrets(content)
    task.headline = headlines.headline(content)
    codes = (task.code, task.case.code, task.agent)
    task.search_text = headlines.search_text(content, jsontext.loads(task.refs), codes)


def _record_opened(
    task: Task, content: exhibits.Content, eligible: list[str], *, after: AuditEntry, now: datetime
) -> AuditEntry:
    tool = content.tool and (content.tool.name or "a tool without a name")
    what = f"to run {tool}" if tool else f"a question ({content.reason})"
    return audit.record(
        "task.opened",
        f"{content.agent_name} asks in queue “{task.queue.name}”: {what}.",
        task=task,
        data={
            "queue": task.queue.name,
            "reason": content.reason,
            "message": content.message,
            "tool": content.tool.name if content.tool else None,
            "argsText": content.tool.args_text if content.tool else None,
            "deadlineText": task.deadline_text or None,
            "asking": task.asking,
            "shownDigest": task.shown_digest,
            "flags": task.flags,
            "rules": _rules(task, eligible),
        },
        after=after,
        now=now,
    )


def _eligible(queue: Queue) -> list[str]:
    """Who could decide in it now, by pseudonym."""
    reviewers = queue.members.filter(is_active=True, groups__name=Role.REVIEWER)
    return list(reviewers.order_by("pseudonym").values_list("pseudonym", flat=True))


def _rules(task: Task, eligible: list[str]) -> dict[str, Any]:
    """What held at the pause, for whoever asks years later: who could have decided, and on what terms."""
    queue = task.queue
    return {
        "queue": queue.name,
        "risk": queue.risk,
        "reasonRequired": queue.reason_required,
        "wholeTextFirst": queue.whole_text_first,
        "kitDigest": exhibits.digest(task.kit),
        "eligible": eligible,
    }


def _void_decision(case: Case, task: Task, now: datetime) -> int | None:
    """The id of the decision that was voided; None when there was none or it is sealed."""
    if case.taken_at or case.state not in (State.OPEN, State.SETTLED):
        return None
    live = task.decisions.live().first()
    if live is None:
        return None
    task.decisions.filter(pk=live.pk).update(voided_at=now)
    casework.ask_again(case, [task], now=now)
    return live.pk


def _count(tasks: int) -> str:
    return "one question" if tasks == 1 else f"{tasks} questions"

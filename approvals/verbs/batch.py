"""One answer to a list of tasks that a person has seen side by side. Each is a decision and an entry of its own.

The list is explicit: what arrives meanwhile never joins. Nothing of a high-risk queue is in it, and it is approved only
where the arguments are equal to the byte (R-64).
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from approvals import exhibits, locking
from approvals.models import Decision, Exhibit, Queue, Task, User
from approvals.models.cases import ALPHABET, Verdict
from approvals.refusals import Invalid, NotAllowed, Refused
from approvals.schemas import Problem
from approvals.verbs import deciding

MOST = 25
VERDICTS = (Verdict.APPROVED, Verdict.REJECTED)
NAME = re.compile(rf"B-[{ALPHABET}]{{8}}")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A task of the list, with the digest of what was shown of it."""

    task: Task
    shown_digest: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one task of the list."""

    task: Task
    decision: Decision | None
    refused: Refused | None = None


def new_name() -> str:
    """The list's own id, made when it is shown: the same list posted twice is decided once."""
    return "B-" + "".join(secrets.choice(ALPHABET) for _place in range(8))


def same_call(content: exhibits.Content) -> str:
    """Equal for two tasks of an agent exactly when it would run the same tool with the same bytes."""
    tool = content.tool
    parts = (tool.name, tool.args_text) if tool else ("",)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def why_not(task: Task) -> str | None:
    """None when a task may be in a list; else why it is decided on its own page."""
    if task.queue.risk == Queue.Risk.HIGH:
        return _("High risk: decided one by one, on its own page.")
    return None


def decide(
    chosen: Sequence[Chosen],
    *,
    by: User,
    verdict: str,
    comment: str = "",
    reason_code: str = "",
    batch: str,
    now: datetime,
) -> list[Outcome]:
    """Decide each with the rights and the rules of a single decision; one refused does not stop the others.

    Raises Invalid for what is wrong with the list as a whole: then nothing is decided.
    """
    _check(chosen, verdict, batch)
    given = {"verdict": verdict, "comment": comment, "reason_code": reason_code, "batch": batch}
    return [_one(one, by, now, given) for one in chosen]


def _check(chosen: Sequence[Chosen], verdict: str, batch: str) -> None:
    problems = []
    if not NAME.fullmatch(batch):
        problems.append(Problem("/batch", _("This list has no name.")))
    if verdict not in VERDICTS:
        problems.append(Problem("/verdict", _("A list is approved or rejected; everything else is done one by one.")))
    if not chosen:
        problems.append(Problem("/tasks", _("Nothing is in the list.")))
    if len(chosen) > MOST:
        problems.append(Problem("/tasks", _("At most %d tasks are decided in one list.") % MOST))
    if not problems and verdict == Verdict.APPROVED and not _equal(chosen):
        problems.append(Problem("/tasks", _("Only equal arguments are approved together. Nothing was decided.")))
    if problems:
        raise Invalid(problems)


def _equal(chosen: Sequence[Chosen]) -> bool:
    """Whether all of them are one call, by what was shown of each."""
    bodies = Exhibit.objects.filter(task__in=[one.task for one in chosen])
    shown = {(task, digest): body for task, digest, body in bodies.values_list("task_id", "digest", "body")}
    wanted = [shown.get((one.task.pk, one.shown_digest)) for one in chosen]
    contents = [exhibits.load(body) for body in wanted if body]
    calls = {(one.task.agent, same_call(content)) for one, content in zip(chosen, contents, strict=False)}
    return len(contents) == len(chosen) and len(calls) == 1 and all(content.proposal for content in contents)


def _one(one: Chosen, by: User, now: datetime, given: dict[str, str]) -> Outcome:
    told = "\0".join((given["verdict"], given["comment"], given["reason_code"], one.shown_digest))
    key = f"{given['batch']}:{hashlib.sha256(told.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
    try:
        with transaction.atomic():
            _case, task = locking.locked(one.task)  # the risk of its queue is read under the lock too
            if sentence := why_not(task):
                raise NotAllowed(sentence)
            decision = deciding.decide(
                task, by=by, shown_digest=one.shown_digest, idempotency_key=key, now=now, **given
            )
    except Refused as refused:
        return Outcome(one.task, None, refused)
    return Outcome(one.task, decision)

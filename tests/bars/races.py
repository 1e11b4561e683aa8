"""Plays of people who act at the same instant: what the rows and the trail say afterwards is one order of events."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Barrier, Thread
from typing import Any

from django.db import connection
from django.utils import timezone

from approvals import intake, people, permissions, reviewing
from approvals.models import AuditEntry, Case, Decision, Queue, Task, User
from approvals.models.cases import EndedBecause
from approvals.models.people import Role
from tests.people import new_task, only_task, verbs

Deed = Callable[[], Any]


def at_once(*deeds: Deed) -> list[Any]:
    """All behind one barrier, each with a connection of its own; what each returned or was refused with."""
    barrier, answers = Barrier(len(deeds)), [None] * len(deeds)

    def run(n: int, deed: Deed) -> None:
        barrier.wait()
        try:
            answers[n] = deed()
        except reviewing.Refused as refused:
            answers[n] = refused
        finally:
            connection.close()

    threads = [Thread(target=run, args=(n, deed)) for n, deed in enumerate(deeds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def fresh(queue: Queue, n: int, *, deadline: datetime | None = None) -> Task:
    """One open question on a thread of its own."""
    asked = new_task(queue, deadline=deadline)
    new = intake.NewCase(agent="payer", thread_key=f"{n:064}", refs={"agent": "payer"}, tasks=[asked])
    return only_task(intake.open_case(new, now=timezone.now()))


def decides(task: Task, by: User, verdict: str, *, at: datetime | None = None, key: str = "") -> Deed:
    return lambda: reviewing.decide(
        task, by=by, verdict=verdict, shown_digest=task.shown_digest, idempotency_key=key, now=at or timezone.now()
    )


def two_reviewers(queue: Queue, one: User, other: User, *, times: int) -> None:
    """R-21: exactly one wins, the other is told who, and the winner's verdict is the one on record."""
    for n in range(times):
        task = fresh(queue, n)
        answers = at_once(decides(task, one, "approved"), decides(task, other, "rejected"))
        won = [answer for answer in answers if isinstance(answer, Decision)]
        lost = [answer for answer in answers if isinstance(answer, reviewing.AlreadyDecided)]
        assert (len(won), len(lost)) == (1, 1), answers
        assert Decision.objects.live().get(task=task).verdict == won[0].verdict == lost[0].verdict
    assert Decision.objects.count() == times


def one_token(queue: Queue, by: User, *, times: int) -> None:
    """R-22: eight clicks with one token are one decision, and all are told of it."""
    for n in range(times):
        task = fresh(queue, n)
        answers = at_once(*[decides(task, by, "approved", key=f"token-{n}")] * 8)
        assert {answer.pk for answer in answers} == {Decision.objects.get(task=task).pk}


def at_the_deadline(queue: Queue, by: User, *, times: int, margin: float) -> None:
    """R-23: around the last moment a decision is in time and kept, or refused as late; never both, never after it."""
    for n in range(times):
        apart = timedelta(milliseconds=(n % 11) - 5)
        deadline = timezone.now() + timedelta(seconds=margin, milliseconds=8)
        task = fresh(queue, n, deadline=deadline + apart)
        [answer] = at_once(decides(task, by, "approved"))
        task.refresh_from_db()
        if isinstance(answer, Decision):
            assert task.deadline is not None and answer.at < task.deadline - timedelta(seconds=margin)
        else:
            assert isinstance(answer, reviewing.Expired) and not task.decisions.exists()


def decided_or_withdrawn(queue: Queue, by: User, *, times: int) -> None:
    """R-24: a withdrawal and a decision at once: the case is withdrawn, and a decision was before it or is none."""
    for n in range(times):
        task = fresh(queue, n)
        case = Case.objects.get(pk=task.case_id)
        answer, _ = at_once(decides(task, by, "approved"), lambda case=case: leaves(case))
        told = verbs(case)
        assert told.count("case.withdrawn") == 1
        assert isinstance(answer, Decision) == (told.index("case.withdrawn") > _place(told, "task.decided"))


def leaves(case: Case) -> None:
    reviewing.withdraw(case, because=EndedBecause.ANSWERED_ELSEWHERE, now=timezone.now())


def _place(told: list[str], verb: str) -> int:
    return told.index(verb) if verb in told else len(told)


def recalled_or_taken(queue: Queue, by: User, *, times: int) -> None:
    """R-24: the author's recall and the worker's taking at once: exactly one of them."""
    for n in range(times):
        task = fresh(queue, n)
        decides(task, by, "approved")()
        case = Case.objects.get(pk=task.case_id)
        at_once(
            lambda case=case: reviewing.recall(case, by=by, now=timezone.now()),
            lambda case=case: reviewing.take(case, now=timezone.now()),
        )
        told = verbs(case)
        assert ("case.taken" in told) != ("case.recalled" in told), told


def right_removed(queue: Queue, *, times: int) -> None:
    """R-25: where the trail has the removal first, there is no decision after it."""
    for n in range(times):
        by = people.set_user("dora", role=Role.REVIEWER, queues=[queue.name], now=timezone.now())
        task = fresh(queue, n)
        at_once(
            decides(task, by, "approved"),
            lambda: people.set_user("dora", role=Role.AUDITOR, now=timezone.now()),
        )
        told = list(AuditEntry.objects.order_by("-seq").values_list("verb", flat=True)[:2])
        assert not (told[0] == "task.decided" and "user.changed" in told), told
        assert permissions.role_of(User.objects.get(pk=by.pk)) == Role.AUDITOR

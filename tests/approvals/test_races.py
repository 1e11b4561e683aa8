"""Two people, two connections, one moment: the database decides who was first."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from approvals import audit, people, reviewing
from approvals.models import AuditEntry, Decision, Task, User
from approvals.models.people import Role
from approvals.trail import verification
from approvals.verbs import staffing
from tests.people import decide, in_seconds, only_task, person, verbs

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 5


def at_once(*deeds: Callable[[], Any]) -> list[Any]:
    """What each deed returned or raised, all started together on connections of their own."""
    start = Barrier(len(deeds))

    def run(deed: Callable[[], Any]) -> Any:
        start.wait()
        try:
            return deed()
        except reviewing.Refused as refused:
            return refused
        finally:
            connection.close()

    with ThreadPoolExecutor(len(deeds)) as pool:
        return list(pool.map(run, deeds))


def decides(task: Task, by: Any, verdict: str, **more: Any) -> Callable[[], Decision]:
    digest = task.shown_digest
    return lambda: reviewing.decide(
        task, by=by, verdict=verdict, shown_digest=digest, **{"now": timezone.now(), **more}
    )


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_of_two_decisions_one_wins(alice, bob, task, turn):
    answers = at_once(decides(task, alice, "approved"), decides(task, bob, "rejected"))

    won = [answer for answer in answers if isinstance(answer, Decision)]
    lost = [answer for answer in answers if isinstance(answer, reviewing.AlreadyDecided)]
    assert (len(won), len(lost)) == (1, 1)
    assert (lost[0].by, lost[0].verdict) == (won[0].by, won[0].verdict)
    assert verbs(task.case).count("task.decided") == 1


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_same_click_twice_is_one_decision(alice, task, turn):
    click = decides(task, alice, "approved", idempotency_key="k")

    first, second = at_once(click, click)
    assert first == second
    assert Decision.objects.count() == 1


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_two_last_tasks_settle_the_case_once(alice, bob, open_case, turn):
    case = open_case(2)
    first, second = case.tasks.order_by("position")
    at_once(decides(first, alice, "approved"), decides(second, bob, "approved"))

    case.refresh_from_db()
    assert case.state == "settled"
    assert verbs(case).count("case.settled") == 1


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_recall_or_take_but_never_both(alice, task, settings, turn):
    settings.UNDO_SECONDS = 0
    decide(task, alice)
    case = task.case
    at_once(
        lambda: reviewing.recall(case, by=alice, now=timezone.now()), lambda: reviewing.take(case, now=timezone.now())
    )

    case.refresh_from_db()
    assert (case.state, case.taken_at is None) in [("open", True), ("settled", False)]
    assert ("case.taken" in verbs(case)) != ("case.recalled" in verbs(case))


def test_of_many_takers_one_wins(alice, task, settings):
    settings.UNDO_SECONDS = 0
    decide(task, alice)
    answers = at_once(*[lambda: reviewing.take(task.case, now=timezone.now())] * 6)

    assert answers.count(None) == 1


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_decision_or_expiry_but_never_both(alice, open_case, turn):
    task = only_task(open_case(deadline=in_seconds(5.02 + turn / 50)))

    [answer] = at_once(decides(task, alice, "approved"))
    task.case.refresh_from_db()
    assert isinstance(answer, reviewing.Expired) or answer.at < task.case.deadline


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_right_is_there_at_the_moment_of_the_deed(alice, task, turn):
    """Decided before the right was gone, or not at all: the trail's order tells."""
    at_once(
        decides(task, alice, "approved"),
        lambda: people.set_user("alice", role=Role.AUDITOR, now=timezone.now()),
    )

    order = list(AuditEntry.objects.order_by("seq").values_list("verb", flat=True))
    gone = len(order) - 1 - order[::-1].index("user.changed")
    assert "task.decided" not in order[gone:]


def test_many_at_once_leave_one_good_chain(alice, open_case):
    """Visible order is the order of seq: what a reader saw is never followed by something earlier."""
    tasks = list(open_case(12).tasks.order_by("position"))
    writers = [decides(task, alice, "approved") for task in tasks]
    writers += [lambda: audit.record("queue.changed", "noise", now=timezone.now())] * 12

    seen: list[list[int]] = []

    def read() -> None:
        for _ in range(50):
            seen.append(list(AuditEntry.objects.order_by("seq").values_list("seq", flat=True)))

    at_once(*writers, read)
    assert all(seqs == list(range(1, len(seqs) + 1)) for seqs in seen)
    assert verification.verify().status == verification.GOOD


def disables(whom: User, by: User) -> Callable[[], Any]:
    return lambda: staffing.disable(whom, because="moved on", by=by, now=timezone.now())


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_of_two_administrators_who_disable_each_other_one_stays(adam, turn):
    ada = person("ada", Role.ADMIN)
    at_once(disables(ada, adam), disables(adam, ada))
    assert User.objects.filter(is_active=True).count() == 1


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_decision_counts_only_from_before_its_author_was_disabled(adam, alice, task, turn):
    decided, _done = at_once(decides(task, alice, "approved"), disables(alice, adam))
    order = list(AuditEntry.objects.filter(verb__in=["task.decided", "user.disabled"]).order_by("seq"))
    assert [entry.verb for entry in order] == ["task.decided"] * isinstance(decided, Decision) + ["user.disabled"]

"""A worker that stands still, or stumbles over a fault of ours: nothing is used up by it, and nobody else waits."""

from __future__ import annotations

import asyncio
from datetime import datetime
from time import monotonic
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from agentbridge.delivery import resuming, sealing, settling
from agentbridge.delivery.backoff import Breakers
from agentbridge.delivery.tickets import Head, Ticket
from agentbridge.models import Agent, Run
from agentbridge.runs import queueing
from agentbridge.work import delivering, sweeping
from agentbridge.work.database import DatabaseThreads
from agentbridge.work.room import Room
from agentbridge.work.worker import find_work
from approvals import jsontext
from approvals.models import AuditEntry, Case, Decision, User
from tests.bridge_work import Script, ask, delivery, paused_case, register, work
from tests.people import decide, in_seconds, only_task
from tests.scripted_agent import ScriptedAgent, failed, finished, finishing, interrupt, pausing, result, started

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agent(script: Script) -> ScriptedAgent:
    return script(pausing(), finishing())


@pytest.fixture
def case(agent: ScriptedAgent, alice: User) -> Case:
    """Answered and sealed."""
    found = paused_case(register(agent), alice)
    decide(only_task(found), alice)
    assert sealing.seal(found, now=timezone.now())
    return found


def claimed(case: Case) -> Ticket:
    ticket = resuming.claim(delivery(case).pk, owner="sleeper", now=timezone.now())
    assert ticket is not None
    return ticket


def later(settings: Any) -> datetime:
    """When every lease has run out."""
    return in_seconds(settings.LEASE_SECONDS + 1)


def deliver(ticket: Ticket) -> None:
    async def once() -> None:
        db = DatabaseThreads(1)
        await delivering.Delivery(ticket, db).run()
        await db.close()

    asyncio.run(once())


def test_a_lease_that_ran_out_before_arming_uses_up_no_attempt(case: Case, settings: Any) -> None:
    ticket = claimed(case)
    with pytest.raises(resuming.NotArmed):
        resuming.arm(ticket, now=later(settings))
    resuming.put_back(ticket, sentence="The lease was over.", now=timezone.now())
    assert (delivery(case).state, delivery(case).attempts_made) == ("ready", 0)


def test_an_agent_that_is_not_reached_uses_up_one(agent: ScriptedAgent, case: Case) -> None:
    agent.down()
    deliver(claimed(case))
    assert (delivery(case).state, delivery(case).attempts_made) == ("ready", 1)


def test_what_was_armed_too_long_ago_is_not_sent_and_not_counted(
    agent: ScriptedAgent, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering, "STALE_SECONDS", -1)
    ticket = claimed(case)
    deliver(ticket)
    assert (delivery(case).state, delivery(case).attempts_made, agent.resumes) == ("ready", 0, [])
    assert Run.objects.get(pk=ticket.run_pk).status == Run.Status.UNSENT


def test_a_commit_that_takes_seconds_ends_no_first_run(
    agent: ScriptedAgent, alice: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LEASE_SECONDS = 600
    ask(register(agent), alice)
    monkeypatch.setattr(delivering, "STALE_SECONDS", 2)
    monkeypatch.setattr(delivering, "monotonic", lambda: monotonic() + 200)  # a third of a lease since it was armed
    work()
    assert (Case.objects.count(), len(agent.posts)) == (1, 1)


def test_a_first_run_that_others_may_take_for_lost_is_not_sent(
    agent: ScriptedAgent, alice: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LEASE_SECONDS = 600
    run = ask(register(agent), alice)
    monkeypatch.setattr(delivering, "monotonic", lambda: monotonic() + 400)
    work()
    assert (Run.objects.get(pk=run.pk).status, agent.posts) == (Run.Status.UNSENT, [])


NEW = {
    "switched off": {"enabled": False},
    "another token": {"headers": jsontext.dumps([["Authorization", "Bearer new"]])},
}


@pytest.mark.parametrize("change", NEW.values(), ids=NEW)
def test_an_agent_that_changed_since_the_claim_is_not_asked_as_it_was(
    agent: ScriptedAgent, case: Case, change: dict[str, Any]
) -> None:
    ticket = claimed(case)
    Agent.objects.update(**change)
    deliver(ticket)
    assert (delivery(case).state, delivery(case).attempts_made, agent.resumes) == ("ready", 0, [])


def test_a_first_run_waits_for_its_agent_to_be_switched_on(script: Script, alice: User) -> None:
    scripted = script(pausing())
    run = ask(register(scripted), alice)
    ticket = queueing.claim(run.pk, owner="one", now=timezone.now())
    assert ticket is not None
    Agent.objects.update(enabled=False)
    deliver(ticket)
    work()
    assert (Run.objects.get(pk=run.pk).status, scripted.posts) == (Run.Status.QUEUED, [])
    Agent.objects.update(enabled=True)
    work()
    assert Run.objects.get(pk=run.pk).status == Run.Status.INTERRUPTED


def test_a_doubt_ends_when_the_worker_wakes_and_knows_that_nothing_was_sent(
    agent: ScriptedAgent, case: Case, settings: Any
) -> None:
    ticket = claimed(case)
    resuming.arm(ticket, now=timezone.now())
    sweeping.sweep(later(settings))
    assert delivery(case).state == "in_doubt"
    resuming.put_back(ticket, sentence="It stood still; nothing was sent.", now=timezone.now())
    assert (delivery(case).lost_leases, Run.objects.get(pk=ticket.run_pk).status) == (0, Run.Status.UNSENT)
    while delivery(case).state == "ready":
        work()
    assert (delivery(case).state, len(agent.resumes)) == ("finished", 1)


@pytest.mark.parametrize(
    ("end", "state", "ends"),
    [(finished(), "finished", "delivered"), (finished(interrupt("int-2")), "interrupted_again", "delivered"),
     (failed("no"), "agent_error", "settled")], ids=["finished", "asks again", "failed"],
)  # fmt: skip
def test_an_end_that_comes_when_it_may_be_sent_again_is_the_end(
    case: Case, settings: Any, end: bytes, state: str, ends: str
) -> None:
    Agent.objects.update(replay_class="verified", replay_set_at=timezone.now())
    ticket = claimed(case)
    resuming.arm(ticket, now=timezone.now())
    recording = delivering.begin(ticket)
    recording.opened(Head(status=200))
    sweeping.sweep(later(settings))
    assert delivery(case).state == "ready"
    said = (started() + result("paid") + end).replace(b"__THREAD__", b"thread-1")
    delivering.keep(recording, said.replace(b"__RUN__", recording.run.run_id.encode()))
    assert (delivery(case).state, states([case])) == (state, [ends])


def test_a_doubt_that_a_person_settled_is_left_alone(case: Case, olga: User, settings: Any) -> None:
    ticket = claimed(case)
    resuming.arm(ticket, now=timezone.now())
    sweeping.sweep(later(settings))
    settling.resolve_doubt(case, action="abandon", reason="no longer needed", by=olga, now=timezone.now())
    resuming.put_back(ticket, sentence="It stood still; nothing was sent.", now=timezone.now())
    assert delivery(case).state == "abandoned"


def test_a_worker_that_lives_is_no_crash_however_often_its_lease_is_lost(case: Case, settings: Any) -> None:
    for _ in range(resuming.POISON + 1):
        ticket = claimed(case)
        sweeping.sweep(later(settings))
        resuming.put_back(ticket, sentence="The lease was over.", now=timezone.now())
    assert (delivery(case).state, delivery(case).lost_leases) == ("ready", 0)


def test_a_first_run_whose_lease_ran_out_before_arming_is_asked_for_again(
    agent: ScriptedAgent, alice: User, settings: Any
) -> None:
    run = ask(register(agent), alice)
    ticket = queueing.claim(run.pk, owner="sleeper", now=timezone.now())
    assert ticket is not None
    with pytest.raises(resuming.NotArmed):
        queueing.arm(ticket, now=later(settings))
    queueing.put_back(ticket, sentence="The lease was over.", now=timezone.now())
    work()
    assert (Case.objects.count(), len(agent.posts)) == (1, 1)


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`faulty(resuming, "claim", KeyError("x"))` raises for the row that it is called for first: the newest."""

    def make(module: Any, name: str, fault: Exception) -> None:
        real = getattr(module, name)
        bad: list[Any] = []

        def call(row: Any, **given: Any) -> Any:
            if not bad or row in bad:
                bad.append(row)
                raise fault
            return real(row, **given)

        monkeypatch.setattr(module, name, call)

    return make


@pytest.fixture
def two(script: Script, alice: User) -> list[Case]:
    """Two answered cases of one agent."""
    payer = register(script(pausing(), pausing(), finishing()))
    for n in range(2):
        ask(payer, alice, thread_id=f"thread-{n}")
    work()
    cases = list(Case.objects.order_by("pk"))
    for case in cases:
        decide(only_task(case), alice)
    return cases


def states(cases: list[Case]) -> list[str]:
    return [Case.objects.get(pk=case.pk).state for case in cases]


def test_answers_that_cannot_be_sealed_keep_no_others_waiting(two: list[Case], faulty: Any) -> None:
    faulty(sealing, "seal", KeyError("oh"))
    work()
    assert states(two) == ["delivered", "settled"]
    assert "fault of this desk" in Case.objects.get(pk=two[1].pk).blocked


def test_answers_are_sealed_as_they_were_when_the_fault_is_mended(
    two: list[Case], faulty: Any, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty(sealing, "seal", KeyError("oh"))
    work()
    monkeypatch.undo()
    settling.unblock(two[1], reason="the fault is mended", by=olga, now=timezone.now())
    work()
    assert states(two) == ["delivered", "delivered"]
    entry = AuditEntry.objects.get(verb="case.unblocked", case=two[1])
    assert (entry.actor, jsontext.loads(entry.data or "")["reason"]) == (olga, "the fault is mended")
    assert Decision.objects.filter(task__case=two[1]).count() == 1


def test_a_delivery_that_cannot_be_prepared_waits_for_a_person(
    two: list[Case], faulty: Any, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty(resuming, "claim", KeyError("oh"))
    work()
    monkeypatch.undo()
    assert (states(two), delivery(two[1]).state) == (["delivered", "settled"], "dead")
    settling.resolve_doubt(two[1], action="resend", reason="it is mended", by=olga, now=timezone.now())
    work()
    assert states(two) == ["delivered", "delivered"]


def test_a_run_that_cannot_be_prepared_ends_unsent(script: Script, alice: User, faulty: Any) -> None:
    payer = register(script(pausing()))
    runs = [ask(payer, alice, thread_id=f"thread-{n}") for n in range(2)]
    faulty(queueing, "claim", KeyError("oh"))
    work()
    assert [Run.objects.get(pk=run.pk).status for run in runs] == ["interrupted", "unsent"]


def test_trouble_with_the_database_sets_nothing_aside(two: list[Case], faulty: Any) -> None:
    for case in two:
        sealing.seal(case, now=timezone.now())
    faulty(resuming, "claim", OperationalError("gone away"))
    assert find_work("one", Breakers(), Room(10), sweep=False) == ([], False)
    assert [delivery(case).state for case in two] == ["ready", "ready"]


def test_a_deadline_is_seen_behind_any_number_that_wait_for_their_agent(
    two: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "LIMIT", 1)
    for case in two:
        sealing.seal(case, now=timezone.now())
    Case.objects.filter(pk=two[1].pk).update(deadline=timezone.now())
    sweeping.sweep(timezone.now())
    assert [delivery(case).state for case in two] == ["ready", "expired_unsent"]

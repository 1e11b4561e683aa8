"""What an operator does when the way to the agent is not plain."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from agentbridge.delivery import settling
from agentbridge.models import Agent
from agentbridge.work import sweeping
from approvals import jsontext, reviewing
from approvals.models import AuditEntry, Case, User
from approvals.models.cases import EndedBecause
from approvals.refusals import Expired, Invalid, NotAllowed, WrongState
from tests.bridge_work import Script, ask, delivery, due_again, paused_case, register, work
from tests.people import decide, in_seconds, only_task, pass_deadline
from tests.scripted_agent import RESET, Answer, ScriptedAgent, call, failed, finishing, interrupt, pausing, started

pytestmark = pytest.mark.django_db(transaction=True)


def settle(case: Case, by: User, action: str, reason: str = "I looked at it") -> None:
    settling.resolve_doubt(case, action=action, reason=reason, by=by, now=timezone.now())


@pytest.fixture
def agent(script: Script) -> ScriptedAgent:
    return script(pausing(), Answer([RESET], head=False), finishing())


@pytest.fixture
def doubtful(agent: ScriptedAgent, alice: User) -> Case:
    """Sent, and no word came back."""
    case = paused_case(register(agent), alice)
    decide(only_task(case), alice)
    work()
    return case


def refused_case(script: Script, alice: User, *after: Answer) -> tuple[ScriptedAgent, Case]:
    agent = script(pausing(), Answer([started(), failed("wrong form", "INVALID_PAYLOAD")]), *after)
    case = paused_case(register(agent), alice)
    decide(only_task(case), alice)
    work()
    return agent, case


def test_send_again_is_a_new_attempt_with_the_same_bytes(agent: ScriptedAgent, doubtful: Case, olga: User) -> None:
    settle(doubtful, olga, "resend")
    work()
    assert delivery(doubtful).state == "finished"
    assert len({jsontext.member(post.body.decode(), "resume") for post in agent.posts[1:]}) == 1
    assert [run.attempt for run in delivery(doubtful).attempts.order_by("attempt")] == [1, 2]


def test_what_was_sent_before_is_not_called_unsent(doubtful: Case, olga: User) -> None:
    settle(doubtful, olga, "resend")
    reviewing.withdraw(doubtful, because=EndedBecause.SUPERSEDED, now=timezone.now())
    sweeping.sweep(timezone.now())
    assert (delivery(doubtful).state, "since these answers were first sent" in delivery(doubtful).note) == (
        "abandoned", True,
    )  # fmt: skip


def test_the_reason_and_the_person_are_on_the_trail(doubtful: Case, olga: User) -> None:
    settle(doubtful, olga, "mark_done", "seen in the ledger")
    entry = AuditEntry.objects.get(verb="delivery.marked_done")
    assert (entry.actor, jsontext.loads(entry.data or "")["reason"]) == (olga, "seen in the ledger")
    doubtful.refresh_from_db()
    assert (doubtful.state, delivery(doubtful).state) == ("delivered", "marked_done")


def test_a_delivery_can_be_given_up(agent: ScriptedAgent, doubtful: Case, olga: User) -> None:
    settle(doubtful, olga, "abandon")
    work()
    doubtful.refresh_from_db()
    assert (doubtful.state, doubtful.ended_because, delivery(doubtful).state) == ("withdrawn", "abandoned", "abandoned")
    assert len(agent.posts) == 2


def test_only_operators_settle_and_only_with_a_reason(doubtful: Case, alice: User, olga: User) -> None:
    with pytest.raises(NotAllowed):
        settle(doubtful, alice, "resend")
    with pytest.raises(Invalid):
        settle(doubtful, olga, "resend", " ")


def test_what_may_have_run_is_not_answered_again(doubtful: Case, olga: User) -> None:
    with pytest.raises(WrongState):
        settle(doubtful, olga, "answer_again")


def test_a_thread_that_moved_on_gets_no_old_answer(script: Script, doubtful: Case, olga: User, alice: User) -> None:
    Case.objects.filter(pk=doubtful.pk).update(state="delivered")
    ask(Agent.objects.get(), alice)
    Case.objects.filter(pk=doubtful.pk).update(state="settled")
    with pytest.raises(WrongState, match="moved on"):
        settle(doubtful, olga, "resend")


def test_a_refused_answer_can_be_given_again(script: Script, alice: User, olga: User) -> None:
    agent, case = refused_case(script, alice, finishing())
    settle(case, olga, "answer_again")

    case.refresh_from_db()
    again = Case.objects.get(previous=case)
    task = only_task(again)
    assert (case.ended_because, task.asking) == ("answered_again", 2)
    decide(task, alice, "rejected")
    work()
    assert [resume[0]["payload"]["approved"] for resume in agent.resumes] == [True, False]
    assert delivery(again).state == "finished"


def test_a_refused_answer_cannot_be_called_done(script: Script, alice: User, olga: User) -> None:
    _agent, case = refused_case(script, alice)
    with pytest.raises(WrongState):
        settle(case, olga, "mark_done")


def expired_pair(script: Script, alice: User, *, decided: bool = True) -> tuple[ScriptedAgent, Case]:
    """Two questions, the second of which ran out of time before it was answered."""
    limited = interrupt("int-2", "tc-2", expiresAt=in_seconds(3600).isoformat())
    agent = script(pausing(interrupt(), limited, calls=call(id_="tc-1") + call(id_="tc-2")), finishing())
    case = paused_case(register(agent), alice)
    if decided:
        decide(case.tasks.get(position=0), alice)
    pass_deadline(case)
    return agent, case


def test_an_expired_case_is_closed_with_what_was_in_time(script: Script, alice: User, olga: User) -> None:
    agent, case = expired_pair(script, alice)
    settling.close_expired(case, action="send_cancelled", reason="the rest is late", by=olga, now=timezone.now())
    work()

    told = [(entry["interruptId"], entry["status"], "payload" in entry) for entry in agent.resumes[0]]
    assert told == [("int-1", "resolved", True), ("int-2", "cancelled", False)]
    case.refresh_from_db()
    assert (case.state, delivery(case).n) == ("delivered", 2)


def test_a_case_in_time_is_not_closed_as_expired(script: Script, alice: User, olga: User) -> None:
    case = paused_case(register(script(pausing())), alice)
    with pytest.raises(WrongState):
        settling.close_expired(case, action="send_cancelled", reason="why not", by=olga, now=timezone.now())


def test_an_expired_case_can_be_given_up(script: Script, alice: User, olga: User) -> None:
    agent, case = expired_pair(script, alice, decided=False)
    settling.close_expired(case, action="abandon", reason="too late", by=olga, now=timezone.now())
    work()
    case.refresh_from_db()
    assert (case.state, case.ended_because, agent.resumes) == ("withdrawn", "abandoned", [])


def test_nothing_is_sent_again_after_its_deadline(script: Script, alice: User, olga: User) -> None:
    limited = interrupt(expiresAt=in_seconds(3600).isoformat())
    case = paused_case(register(script(pausing(limited), Answer([RESET], head=False))), alice)
    decide(only_task(case), alice)
    work()
    pass_deadline(case)
    with pytest.raises(Expired):
        settle(case, olga, "resend")


@pytest.mark.usefixtures("unhurried")
def test_an_answer_is_bound_to_the_new_address_by_a_person(
    script: Script, agent: ScriptedAgent, alice: User, olga: User, settings: Any
) -> None:
    other = script(finishing())
    case = paused_case(register(agent), alice)
    agent.down()
    decide(only_task(case), alice)
    work()
    register(other)
    due_again()
    work()
    case.refresh_from_db()
    settling.rebind(case, reason="moved to another host", by=olga, now=timezone.now())
    work()
    assert (delivery(case).state, len(other.resumes)) == ("finished", 1)

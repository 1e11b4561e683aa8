"""Asking for a run: what goes out, who may ask, and when a thread says no."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from agentbridge.models import Agent, Run
from agentbridge.runs import starting
from agentbridge.wire.protocol import ProtocolError
from approvals import jsontext
from approvals.models import AuditEntry, Queue, User
from approvals.refusals import NotAllowed
from tests import bridge_rows
from tests.bridge_work import Script, ask, paused_case, register, work
from tests.scripted_agent import Answer, failed, interrupt, pausing

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def payer(payments: Queue) -> Agent:
    return bridge_rows.add_agent(payments)


def start(agent: Agent, by: User | None, **more: Any) -> Run:
    return starting.start(agent, by=by, now=timezone.now(), **more)


def test_a_message_alone_makes_a_whole_input(payer: Agent, alice: User) -> None:
    run = start(payer, alice, message="please")
    sent = jsontext.loads(run.input.decode())
    assert sent["messages"][0]["content"] == "please"
    assert set(sent) == {
        "threadId", "runId", "state", "messages", "tools", "context", "forwardedProps", "protocolVersion",
    }  # fmt: skip
    assert (sent["threadId"], sent["runId"]) == (run.thread.thread_id, run.run_id)


def test_given_members_go_out_byte_for_byte(payer: Agent, alice: User) -> None:
    props = '{"b": 1.0, "a": 12345678901234567890}'
    run = start(payer, alice, run_input_text=f'{{"forwardedProps": {props}, "threadId":"t", "state": null}}')
    assert f'"forwardedProps": {props}' in run.input.decode()
    assert "null" not in run.input.decode()


def test_an_agent_of_before_1_0_is_not_told_a_version(payer: Agent, alice: User) -> None:
    payer.pre_1_0 = True
    payer.save()
    assert b"protocolVersion" not in start(payer, alice).input


def test_asking_only_queues_and_is_told_on_the_trail(payer: Agent, alice: User) -> None:
    run = start(payer, alice)
    assert (run.status, run.requested_by) == ("queued", alice)
    assert AuditEntry.objects.latest("seq").verb == "run.queued"


def test_a_busy_thread_says_no(payer: Agent, alice: User, bob: User) -> None:
    start(payer, alice, thread_id="t")
    with pytest.raises(starting.ThreadBusy):
        start(payer, bob, thread_id="t")


def test_a_paused_thread_names_what_is_open(script: Script, alice: User) -> None:
    agent = register(script(pausing(interrupt("int-1"), interrupt("int-2"))))
    case = paused_case(agent, alice)
    with pytest.raises(starting.ThreadOpen) as refused:
        ask(agent, alice)
    assert (refused.value.ids, refused.value.cases) == (["int-1", "int-2"], [case.code])


def test_a_known_run_id_is_refused(payer: Agent, alice: User) -> None:
    start(payer, alice, run_id="r", thread_id="t")
    with pytest.raises(starting.RunKnown):
        start(payer, alice, run_id="r", thread_id="u")


def test_answers_cannot_be_smuggled_in(payer: Agent, alice: User) -> None:
    with pytest.raises(ProtocolError):
        start(payer, alice, run_input_text='{"resume":[{"interruptId":"int-1","status":"resolved","payload":true}]}')


@pytest.mark.parametrize(
    "twice", ['"threadId":"t","threadId":"u"', '"runId":"r","runId":"s"', '"resume":[],"resume":null']
)
def test_an_input_that_says_twice_where_it_goes_goes_nowhere(payer: Agent, alice: User, twice: str) -> None:
    with pytest.raises(ProtocolError, match="twice"):
        start(payer, alice, run_input_text=f'{{{twice},"messages":[]}}')


def test_only_reviewers_of_its_queues_and_operators_ask(
    payer: Agent, olga: User, charlie: User, carol: User, adam: User
) -> None:
    start(payer, olga)
    for person in (charlie, carol, adam):
        with pytest.raises(NotAllowed):
            start(payer, person)


def test_an_agent_that_is_off_is_not_asked(payer: Agent, alice: User) -> None:
    Agent.objects.update(enabled=False)
    with pytest.raises(starting.AgentOff):
        start(payer, alice)


def test_a_failed_run_leaves_the_thread_free(script: Script, alice: User) -> None:
    agent = register(script(Answer([failed("no")])))
    first = ask(agent, alice)
    work()
    first.refresh_from_db()
    assert (first.status, first.error) == ("failed", "no")
    assert ask(agent, alice).status == "queued"

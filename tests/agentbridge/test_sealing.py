"""Sealing: one transaction from a settled case to bytes that never change."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from agentbridge.delivery import outgoing, proof, sealing
from agentbridge.dialects.sending import Unsendable
from agentbridge.models import Resume, Run
from agentbridge.translation import Decided
from approvals import jsontext
from approvals.models import AuditEntry, Case, User
from approvals.models.cases import State
from tests.bridge_work import Script, paused_case, register
from tests.people import decide, only_task
from tests.scripted_agent import call, interrupt, pausing

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def case(script: Script, alice: User) -> Case:
    """Decided and due."""
    found = paused_case(register(script(pausing())), alice)
    decide(only_task(found), alice, edits='{"amount": 1.0}')
    return found


def sealed(case: Case) -> Resume:
    resume = sealing.seal(case, now=timezone.now())
    assert resume is not None
    return resume


def test_the_bytes_are_the_decisions(case: Case) -> None:
    resume = sealed(case)
    payload = '{"approved":true,"editedArgs":{"amount": 1.0}}'
    assert resume.entries.decode() == f'[{{"interruptId":"int-1","status":"resolved","payload":{payload}}}]'
    assert resume.sha256 == hashlib.sha256(resume.entries).hexdigest()


def test_taking_and_sealing_are_one_deed(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_more: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(Resume.objects, "create", fail)
    with pytest.raises(RuntimeError):
        sealing.seal(case, now=timezone.now())
    case.refresh_from_db()
    assert (case.taken_at, AuditEntry.objects.filter(verb="case.taken").exists()) == (None, False)


def test_answers_that_a_framework_cannot_take_are_blocked_and_say_why(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: Any) -> None:
        raise Unsendable("This framework takes one legacy answer at a time.")

    monkeypatch.setattr(sealing.translation, "sending_of", refuses)
    assert sealing.seal(case, now=timezone.now()) is None
    case.refresh_from_db()
    assert case.blocked == "They cannot be sealed: This framework takes one legacy answer at a time."
    assert not Resume.objects.exists() and case.state == State.SETTLED


def test_of_two_workers_one_seals(case: Case) -> None:
    assert sealing.seal(case, now=timezone.now()) is not None
    assert sealing.seal(case, now=timezone.now()) is None
    assert Resume.objects.count() == 1


def test_nothing_is_due_inside_the_undo_window(script: Script, alice: User, settings: Any) -> None:
    settings.UNDO_SECONDS = 60
    case = paused_case(register(script(pausing())), alice)
    decide(only_task(case), alice)
    assert sealing.due(timezone.now()) == []
    assert sealing.seal(case, now=timezone.now()) is None


def test_the_database_refuses_other_bytes(case: Case) -> None:
    resume = sealed(case)
    with pytest.raises(DatabaseError), transaction.atomic():
        Resume.objects.filter(pk=resume.pk).update(entries=b"[]")


def test_equal_ids_go_out_once(script: Script, alice: User) -> None:
    case = paused_case(register(script(pausing(interrupt(), interrupt()))), alice)
    for task in case.tasks.order_by("position"):
        decide(task, alice)
    assert len(jsontext.loads(sealed(case).entries.decode())) == 1


def reason(resume: Resume) -> str | None:
    return proof.problem(resume, outgoing.build(resume, run_id="new"), Decided.on(resume.case))


def test_a_whole_case_passes_its_proof(case: Case) -> None:
    assert reason(sealed(case)) is None


def test_bytes_that_moved_from_one_sealed_part_to_the_next_are_seen(case: Case) -> None:
    """Both digests are over the parts together, and hold."""
    resume = sealed(case)
    resume.entries, resume.forwarded_props = resume.entries[:-1], resume.entries[-1:] + bytes(resume.forwarded_props)
    draft = outgoing.build(Resume.objects.get(pk=resume.pk), run_id="new")
    assert proof.problem(resume, draft, Decided.on(resume.case)) == "The sealed answers are not the recorded decisions."


@pytest.mark.parametrize("member", ["resume", "forwardedProps"])
def test_an_input_with_another_answer_in_it_is_not_sent(script: Script, alice: User, member: str) -> None:
    asks = paused_case(register(script(pausing()), dialect="langgraph"), alice)
    decide(only_task(asks), alice)
    resume = sealed(asks)
    draft = outgoing.build(resume, run_id="new")
    told = jsontext.members(draft.body.decode())
    body = draft.body.replace(told[member].encode(), b'{"command":{"resume":true}}')
    resume.forwarded_props = resume.forwarded_props or told["forwardedProps"].encode()
    assert list(proof._body_carries_what_was_sealed(resume, draft)) == []
    assert "sealed" in next(proof._body_carries_what_was_sealed(resume, replace(draft, body=body)))


def test_answers_to_an_older_pause_are_not_sent(script: Script, case: Case) -> None:
    resume = sealed(case)
    asked = Run.objects.get()
    later = Run.objects.create(
        thread=asked.thread, key="k", run_id="later", kind="observed", status="interrupted", created_at=timezone.now()
    )
    later.interrupts.create(position=0, key="x", interrupt_id="int-9", raw="{}")
    assert "later run" in (reason(resume) or "")


def test_a_question_that_is_not_covered_stops_the_rest(case: Case) -> None:
    resume = sealed(case)
    Run.objects.get().interrupts.create(position=1, key="x", interrupt_id="int-2", raw="{}")
    assert "do not cover" in (reason(resume) or "")


def test_an_open_call_of_an_offered_tool_comes_first(script: Script, alice: User) -> None:
    tools = '{"messages":[],"tools":[{"name":"pick_date","description":"","parameters":{}}]}'
    calls = call() + call("pick_date", id_="tc-2")
    agent = register(script(pausing(calls=calls)))
    case = paused_case(agent, alice, run_input_text=tools)
    decide(only_task(case), alice)
    assert "pick_date" in (reason(sealed(case)) or "")


def test_state_and_context_go_along_byte_for_byte(script: Script, alice: User) -> None:
    given = '{"state": {"n": 1.0},"context": [ ],"forwardedProps": {"b":1, "a":2}}'
    case = paused_case(register(script(pausing())), alice, run_input_text=given)
    decide(only_task(case), alice)
    body = outgoing.build(sealed(case), run_id="new").body.decode()
    for part in ('"state":{"n": 1.0}', '"context":[ ]', '"forwardedProps":{"b":1, "a":2}', '"protocolVersion":"1.0"'):
        assert part in body
    assert "parentRunId" not in body

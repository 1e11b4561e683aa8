"""Every way that a case can go, entry by entry: what an auditor reads of it, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from agentbridge.delivery import sealing, settling
from agentbridge.models import Incident
from approvals import audit, reviewing
from approvals.models import Case, User
from approvals.verbs import claiming, notes
from tests.bridge_work import Script, paused_case, register, work
from tests.people import decide, only_task, pass_deadline
from tests.scripted_agent import RESET, Answer, call, failed, finished, finishing, interrupt, pausing, result, started
from tests.trails import tells

pytestmark = pytest.mark.django_db(transaction=True)

ASKED = ("case.opened", "task.opened")
DECIDED = ("task.decided", "case.settled")
SEALED = ("case.taken", "resume.sealed", "delivery.leased")
SENT = (*SEALED, "case.sent", "delivery.armed")
TAKEN = (*SENT, "run.started", "delivery.accepted")
DONE = ("run.finished", "delivery.finished", "case.delivered", "task.concluded")
DOUBT = ("run.truncated", "delivery.in_doubt", "task.concluded")
RAN = (*ASKED, *DECIDED, *TAKEN, "task.result", *DONE)
LIMITED = interrupt(expiresAt="2999-01-01T00:00:00Z")


def settle(case: Case, by: User, action: str) -> None:
    settling.resolve_doubt(case, action=action, reason="I looked at it", by=by, now=timezone.now())


def test_approved_with_edits_and_done(script: Script, alice: User) -> None:
    case = paused_case(register(script(pausing(), finishing())), alice)
    decide(only_task(case), alice, edits='{"amount": 1}')
    work()
    tells(case, *RAN)


def test_rejected_and_nothing_ran(script: Script, alice: User) -> None:
    case = paused_case(register(script(pausing(), finishing(None))), alice)
    decide(only_task(case), alice, "rejected", comment="Wrong account.")
    work()
    tells(case, *ASKED, *DECIDED, *TAKEN, *DONE)


def test_talked_about_handed_over_taken_back_and_decided_anew(script: Script, alice: User, bob: User) -> None:
    case = paused_case(register(script(pausing(), finishing(None))), alice)
    task = only_task(case)
    claiming.claim(task, by=alice, now=timezone.now())
    notes.add(task, by=alice, text="@bob is this ours?", now=timezone.now())
    claiming.take_over(task, by=bob, reason="she is away", now=timezone.now())
    decide(task, bob)
    reviewing.recall(case, by=bob, now=timezone.now())
    decide(task, bob, "rejected")
    work()
    begun = (*ASKED, "task.claimed", "note.added", "task.taken_over")
    tells(case, *begun, *DECIDED, "case.recalled", *DECIDED, *TAKEN, *DONE)


def test_three_questions_are_one_answer(script: Script, alice: User) -> None:
    pauses = [interrupt(f"int-{n}", f"tc-{n}") for n in (1, 2, 3)]
    calls = b"".join(call(id_=f"tc-{n}") for n in (1, 2, 3))
    ran = Answer([started(), *(result(id_=f"tc-{n}", message=f"m-{n}") for n in (1, 3)), finished()])
    case = paused_case(register(script(pausing(*pauses, calls=calls), ran)), alice)
    for task, verdict in zip(case.tasks.order_by("position"), ("approved", "rejected", "approved"), strict=True):
        decide(task, alice, verdict)
    work()
    asked, decided = ("case.opened", *["task.opened"] * 3), (*["task.decided"] * 3, "case.settled")
    tells(case, *asked, *decided, *TAKEN, *["task.result"] * 2, *DONE, *["task.concluded"] * 2)


def test_a_second_pause_is_a_case_of_its_own(script: Script, alice: User) -> None:
    again = pausing(interrupt("int-2", "tc-2"), calls=result() + call("ship", id_="tc-2"))
    case = paused_case(register(script(pausing(), again, finishing("shipped", "tc-2"))), alice)
    decide(only_task(case), alice)
    work()
    following = Case.objects.get(previous=case)
    decide(only_task(following), alice)
    work()
    tells(following, *RAN)
    paused = ("run.interrupted", "delivery.interrupted_again", "case.delivered", "task.concluded")
    tells(case, *ASKED, *DECIDED, *TAKEN, "task.result", *paused)


def test_in_doubt_and_sent_again_by_a_person(script: Script, alice: User, olga: User) -> None:
    case = paused_case(register(script(pausing(), Answer([RESET], head=False), finishing())), alice)
    decide(only_task(case), alice)
    work()
    settle(case, olga, "resend")
    work()
    again = ("delivery.ready", "delivery.leased", "delivery.armed", "run.started", "delivery.accepted", "task.result")
    tells(case, *ASKED, *DECIDED, *SENT, *DOUBT, *again, *DONE)


def test_in_doubt_and_given_up(script: Script, alice: User, olga: User) -> None:
    case = paused_case(register(script(pausing(), Answer([RESET], head=False))), alice)
    decide(only_task(case), alice)
    work()
    settle(case, olga, "abandon")
    tells(case, *ASKED, *DECIDED, *SENT, *DOUBT, "delivery.abandoned", "case.withdrawn")


def test_refused_by_the_agent_and_answered_again(script: Script, alice: User, olga: User) -> None:
    refusing = Answer([started(), failed("wrong form", "INVALID_PAYLOAD")])
    case = paused_case(register(script(pausing(), refusing, finishing(None))), alice)
    decide(only_task(case), alice)
    work()
    settle(case, olga, "answer_again")
    again = Case.objects.get(previous=case)
    decide(only_task(again), alice, "rejected")
    work()
    tells(again, *ASKED, *DECIDED, *TAKEN, *DONE)


def test_out_of_time_and_cancelled_by_an_operator(script: Script, alice: User, olga: User) -> None:
    case = paused_case(register(script(pausing(LIMITED), finishing(None))), alice)
    pass_deadline(case)
    settling.close_expired(case, action="send_cancelled", reason="nobody came", by=olga, now=timezone.now())
    work()
    tells(case, *ASKED, *TAKEN, *DONE)


def test_out_of_time_and_given_up(script: Script, alice: User, olga: User) -> None:
    case = paused_case(register(script(pausing(LIMITED))), alice)
    pass_deadline(case)
    settling.close_expired(case, action="abandon", reason="nobody came", by=olga, now=timezone.now())
    tells(case, *ASKED, "case.withdrawn")


def test_a_call_that_ran_although_it_was_denied(script: Script, alice: User, olga: User) -> None:
    case = paused_case(register(script(pausing(), finishing("paid anyway"))), alice)
    decide(only_task(case), alice, "rejected")
    work()
    assert Incident.objects.get().kind == "denied_but_ran"
    tells(case, *RAN, "incident.opened")


def test_an_agent_that_moved_gets_the_answer_once_an_operator_says_so(script: Script, alice: User, olga: User) -> None:
    agent = register(script(pausing()))
    case = paused_case(agent, alice)
    decide(only_task(case), alice)
    sealing.seal(case, now=timezone.now())
    register(script(finishing()))  # at another port, so another address
    work()
    settling.rebind(case, reason="it moved", by=olga, now=timezone.now())
    work()
    moved, sent = ("case.blocked", "delivery.rebound", "case.unblocked", "delivery.leased"), TAKEN[len(SEALED) :]
    tells(case, *ASKED, *DECIDED, *SEALED[:2], *moved, *sent, "task.result", *DONE)


def test_the_auditors_guide_names_every_verb_and_no_other(client: Client) -> None:
    client.get("/accounts/login/")  # verbs are registered where they are written: load all of it
    guide = (Path(__file__).parents[2] / "docs" / "auditing.md").read_text("utf-8").partition("## What is on record")[2]
    named = set(re.findall(r"`([a-z]+\.[a-z_]+)`", guide.partition("\n## ")[0]))
    assert named == set(audit.verbs())

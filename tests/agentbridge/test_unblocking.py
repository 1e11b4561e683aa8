"""Answers that could not be sealed or proven: who mended the cause has them looked at again, as they are."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from agentbridge.delivery import ledger, proof, sealing, settling
from approvals import reviewing
from approvals.models import Case, User
from approvals.refusals import WrongState
from tests.bridge_work import Script, delivery, paused_case, register, work
from tests.people import decide, in_seconds, only_task, pass_deadline
from tests.programs import Program
from tests.scripted_agent import finishing, interrupt, pausing

pytestmark = pytest.mark.django_db(transaction=True)
MENDED = "the cause is mended"


@pytest.fixture
def case(script: Script, alice: User) -> Case:
    """Answered; nothing is sealed yet."""
    found = paused_case(register(script(pausing(), finishing())), alice)
    decide(only_task(found), alice)
    return found


@pytest.fixture
def unsealed(case: Case) -> Case:
    """A fault of ours kept its answers from being sealed."""
    sealing.set_aside(case, now=timezone.now())
    return again(case)


@pytest.fixture
def unproven(case: Case, monkeypatch: pytest.MonkeyPatch) -> Case:
    """Sealed, and what was to be sent is not proven to be what was reviewed."""
    with monkeypatch.context() as patched:
        patched.setattr(proof, "problem", lambda *_given: "It is not what was reviewed.")
        work()
    return again(case)


def again(case: Case) -> Case:
    return Case.objects.get(pk=case.pk)


def offered(case: Case) -> tuple[str, ...]:
    return ledger.actions(case, ledger.current(case), timezone.now())


def unblock(case: Case, by: User) -> None:
    settling.unblock(case, reason=MENDED, by=by, now=timezone.now())


def test_what_was_sealed_is_proven_again_and_leaves_as_it_was(unproven: Case, olga: User) -> None:
    before = delivery(unproven)
    assert (before.state, offered(unproven)) == ("ready", ("unblock", "abandon"))
    unblock(unproven, olga)
    work()
    after = delivery(unproven)
    assert (after.pk, after.state, after.sealed) == (before.pk, "finished", before.sealed)


def test_what_still_stands_blocks_again(unproven: Case, olga: User, monkeypatch: pytest.MonkeyPatch) -> None:
    unblock(unproven, olga)
    monkeypatch.setattr(proof, "problem", lambda *_given: "It is still not what was reviewed.")
    work()
    assert (again(unproven).blocked, delivery(unproven).state) == ("It is still not what was reviewed.", "ready")


def test_an_operator_tries_again_on_the_page(unsealed: Case, client: Client, olga: User) -> None:
    client.force_login(olga)
    assert "Try again" in client.get(f"/cases/{unsealed.code}/delivery/").text
    answer = client.post(f"/cases/{unsealed.code}/delivery/settle/", {"action": "unblock", "reason": MENDED})
    assert answer.status_code == 302
    work()
    assert again(unsealed).state == "delivered"


def test_a_program_tries_again(unsealed: Case, olga: User) -> None:
    answer = Program(olga).post(f"cases/{unsealed.code}/unblock", {"reason": MENDED})
    assert (answer.status_code, answer.json()["blocked"]) == (200, None)
    once_more = Program(olga).post(f"cases/{unsealed.code}/unblock", {"reason": MENDED})
    assert (once_more.status_code, once_more.json()["code"]) == (409, "wrong_state")


def test_what_nobody_could_decide_is_not_opened_so(script: Script, alice: User, olga: User) -> None:
    nameless = paused_case(register(script(pausing(interrupt("")))), alice)
    assert nameless.blocked and "unblock" not in offered(nameless)
    with pytest.raises(WrongState):
        unblock(nameless, olga)


def test_a_new_address_is_bound_and_not_only_tried(unproven: Case, script: Script) -> None:
    register(script())
    assert offered(again(unproven)) == ("rebind", "abandon")


def test_answers_taken_back_take_along_what_was_in_their_way(unsealed: Case, alice: User) -> None:
    reviewing.recall(unsealed, by=alice, now=timezone.now())
    assert (again(unsealed).state, again(unsealed).blocked) == ("open", "")
    decide(only_task(unsealed), alice, "rejected")
    work()
    assert again(unsealed).state == "delivered"
    assert unsealed.entries.filter(verb="case.unblocked", actor=alice).count() == 1


def test_an_expired_case_is_unblocked_before_the_agent_is_told(script: Script, alice: User, olga: User) -> None:
    limited = interrupt(expiresAt=in_seconds(3600).isoformat())
    case = paused_case(register(script(pausing(limited), finishing())), alice)
    decide(only_task(case), alice, now=in_seconds(-60))
    sealing.set_aside(case, now=timezone.now())
    pass_deadline(case)
    assert offered(again(case)) == ("unblock", "abandon")
    with override("ko"), pytest.raises(WrongState) as refused:
        settling.close_expired(again(case), action="send_cancelled", reason="late", by=olga, now=timezone.now())
    assert not re.search("[A-Za-z]{3}", str(refused.value))  # nor is the reason left in English
    unblock(again(case), olga)
    assert offered(again(case)) == ("send_cancelled", "abandon")
    settling.close_expired(again(case), action="send_cancelled", reason="late", by=olga, now=timezone.now())
    work()
    assert (again(case).state, delivery(case).n) == ("delivered", 2)

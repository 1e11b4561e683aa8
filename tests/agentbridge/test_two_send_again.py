"""In a queue of high risk, what may have left is sent again by two operators, on the page and by the API (C.7)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agentbridge.delivery import settling
from agentbridge.models import Resume, Run
from approvals.models import Case, Queue, User
from approvals.models.people import Role
from approvals.refusals import WrongState
from tests import bridge_rows as rows
from tests.bridge_work import Script, paused_case, register, work
from tests.people import decide, only_task, person, verbs
from tests.programs import Program
from tests.scripted_agent import RESET, Answer, pausing

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def omar(payments: Queue) -> User:
    """The other operator."""
    return person("omar", Role.OPERATOR)


@pytest.fixture
def case(script: Script, alice: User) -> Case:
    """In doubt, in a queue of high risk."""
    found = paused_case(register(script(pausing(), *[Answer([RESET], head=False)] * 2)), alice)
    decide(only_task(found), alice)
    work()
    Queue.objects.update(risk=Queue.Risk.HIGH)
    return found


def resend(case: Case, by: User) -> bool:
    reason = "no trace in the ledger"
    return settling.resolve_doubt(case, action="resend", reason=reason, by=by, now=timezone.now())


def state(case: Case) -> str:
    return Resume.objects.get(case=case).state


def test_one_asks_and_another_agrees(case: Case, olga: User, omar: User) -> None:
    assert (resend(case, olga), state(case)) == (False, "in_doubt")
    assert (resend(case, omar), state(case)) == (True, "ready")
    assert verbs(case)[-2:] == ["delivery.resend_asked", "delivery.ready"]


def test_whoever_asked_does_not_agree(case: Case, olga: User) -> None:
    resend(case, olga)
    with pytest.raises(WrongState, match="another operator"):
        resend(case, olga)
    assert state(case) == "in_doubt"


@pytest.mark.tampers
def test_news_of_the_delivery_end_what_was_asked(case: Case, olga: User, omar: User) -> None:
    resend(case, olga)
    resend(case, omar)
    Resume.objects.update(state="in_doubt")
    assert (resend(case, omar), state(case)) == (False, "in_doubt")


def test_one_person_is_enough_elsewhere(case: Case, olga: User) -> None:
    Queue.objects.update(risk=Queue.Risk.MEDIUM)
    assert (resend(case, olga), state(case)) == (True, "ready")


@pytest.mark.tampers
def test_one_person_is_enough_for_what_never_left(case: Case, olga: User) -> None:
    Resume.objects.update(state="dead", armed_once=False)
    assert (resend(case, olga), state(case)) == (True, "ready")


@pytest.mark.tampers
def test_a_thread_that_moved_on_since_gets_nothing(case: Case, olga: User, omar: User) -> None:
    resend(case, olga)
    rows.add_run(Resume.objects.get().agent, "later", kind=Run.Kind.OBSERVED)
    with pytest.raises(WrongState, match="moved on"):
        resend(case, omar)


def test_a_program_is_told_that_it_only_asked(case: Case, olga: User, omar: User) -> None:
    path, body = f"cases/{case.code}/resolve-doubt", {"action": "resend", "reason": "no trace"}
    answers = [Program(by).post(path, body) for by in (olga, olga, omar)]
    assert [answer.status_code for answer in answers] == [202, 409, 200]
    assert answers[2].json()["delivery"]["state"] == "ready"


@pytest.mark.parametrize("address", ["/deliveries/", "/cases/{code}/delivery/"])
def test_pages_say_who_may_do_what(client: Client, case: Case, olga: User, omar: User, address: str) -> None:
    def page(user: User) -> str:
        client.force_login(user)
        return client.get(address.format(code=case.code)).content.decode()

    assert "Ask to send again" in page(olga)
    given: dict[str, Any] = {"action": "resend", "reason": "no trace in the ledger", "back": "deliveries"}
    assert client.post(f"/cases/{case.code}/delivery/settle/", given).status_code == 302
    assert "Agree and send again" in page(omar) and "asks to send the same answers again: no trace" in page(omar)
    assert 'value="resend"' not in page(olga) and 'value="mark_done"' in page(olga)


def settle_page(client: Client, case: Case, by: User, seen: str, action: str = "resend") -> int:
    client.force_login(by)
    given = {"action": action, "reason": "no trace in the ledger", "seen": seen}
    return client.post(f"/cases/{case.code}/delivery/settle/", given).status_code


def shown(client: Client, case: Case, to: User) -> str:
    """What the form says that this person saw."""
    client.force_login(to)
    page = client.get(f"/cases/{case.code}/delivery/").content.decode()
    found = re.search(r'name="seen" value="([^"]+)"', page)
    assert found
    return found[1]


def test_two_that_ask_at_once_do_not_agree_unawares(client: Client, case: Case, olga: User, omar: User) -> None:
    both_saw = shown(client, case, olga)
    assert both_saw == shown(client, case, omar)
    assert settle_page(client, case, olga, both_saw) == 302
    assert settle_page(client, case, omar, both_saw) == 409
    assert state(case) == "in_doubt"
    assert settle_page(client, case, omar, shown(client, case, omar)) == 302
    assert state(case) == "ready"


def test_a_doubt_of_an_earlier_attempt_sends_no_third_one(client: Client, case: Case, olga: User, omar: User) -> None:
    Queue.objects.update(risk=Queue.Risk.MEDIUM)
    both_saw = shown(client, case, olga)
    assert settle_page(client, case, olga, both_saw) == 302
    work()
    assert state(case) == "in_doubt"
    assert settle_page(client, case, omar, both_saw) == 409
    assert state(case) == "in_doubt"


def test_who_saw_a_doubt_gives_nothing_up_that_another_lets_be_sent(
    client: Client, case: Case, olga: User, omar: User
) -> None:
    resend(case, olga)
    omar_saw = shown(client, case, omar)
    resend(case, omar)
    assert settle_page(client, case, olga, omar_saw, action="abandon") == 409
    assert (Resume.objects.get(case=case).state, Case.objects.get(pk=case.pk).state) == ("ready", "settled")

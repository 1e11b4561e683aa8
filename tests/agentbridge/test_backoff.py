"""When an agent is asked again: what it asked for, our patience, and the breaker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from agentbridge.delivery import backoff
from agentbridge.delivery.backoff import Breaker
from agentbridge.net import egress
from approvals.models import User
from tests.bridge_work import Script, delivery, due_again, paused_case, register, work
from tests.people import decide, only_task
from tests.scripted_agent import Answer, finishing, pausing

NOW = datetime(2026, 5, 4, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7), (" 120 ", 120), ("0", 0), ("Mon, 04 May 2026 10:00:07 GMT", 7), ("Mon, 04 May 2026 09:59:00 GMT", 0),
        ("Monday, 04-May-26 10:00:07 GMT", 7), ("Mon, 04 May 2026 12:00:07 +0200", 7),
    ],
)  # fmt: skip
def test_a_time_that_an_agent_asks_for_is_read(header: str, seconds: float) -> None:
    assert backoff.seconds_asked(header, now=NOW) == seconds


@pytest.mark.parametrize(
    "header",
    ["", "soon", "-3", "1.5", "\xb2", "\u0663", "2026-05-04T10:00:07Z", "Mon, 04 May 99999 10:00:07 GMT",
     "Mon, " + "9" * 30 + " May 2026 10:00:07 GMT", "Mon, 04 May 2026 10:00:07 +9999999999"],
)  # fmt: skip
def test_what_is_no_time_counts_as_none(header: str) -> None:
    assert backoff.seconds_asked(header, now=NOW) is None


def test_we_wait_as_long_as_asked_and_no_longer_than_an_hour() -> None:
    assert backoff.delay(1, retry_after=30) >= timedelta(seconds=30)
    assert backoff.delay(1, retry_after=10**8) == timedelta(hours=1)
    assert max(backoff.delay(25) for _ in range(100)) <= timedelta(minutes=10)


def test_patience_ends_by_count_or_by_age() -> None:
    assert not backoff.used_up(misses=24, sealed_at=NOW, now=NOW)
    assert backoff.used_up(misses=25, sealed_at=NOW, now=NOW)
    assert backoff.used_up(misses=1, sealed_at=NOW - timedelta(hours=72), now=NOW)
    assert not backoff.used_up(misses=0, sealed_at=NOW - timedelta(hours=73), now=NOW)


def test_a_breaker_lets_one_probe_through_and_then_five_a_second() -> None:
    breaker, later = Breaker(), 100 + backoff.pause()
    for _ in range(5):
        assert breaker.admits(100)
        breaker.missed(100)
    assert not breaker.admits(100)
    assert (breaker.admits(later), breaker.admits(later)) == (True, False)
    breaker.answered(later)
    moments = [later + n / 100 for n in range(100)]
    assert 4 <= sum(breaker.admits(at) for at in moments) <= 5


@pytest.mark.django_db(transaction=True)
def test_a_date_is_waited_for(script: Script, alice: User) -> None:
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=90)
    busy = Answer([b"later"], status=429, headers={"Retry-After": format_datetime(until, usegmt=True)})
    case = paused_case(register(script(pausing(), busy, finishing())), alice)
    decide(only_task(case), alice)
    work()
    assert delivery(case).state == "ready"
    assert (delivery(case).next_try_at or until) >= until


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("unhurried")
def test_an_unreadable_wish_is_no_reason_to_lose_an_answer(script: Script, alice: User) -> None:
    busy = Answer([b"later"], status=429, headers={"Retry-After": "\xb2"})
    case = paused_case(register(script(pausing(), busy)), alice)
    decide(only_task(case), alice)
    work()
    assert (delivery(case).state, delivery(case).answer_class) == ("ready", "A")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("unhurried")
def test_a_name_that_leads_inward_for_a_while_gets_nothing_until_it_leads_out_again(
    script: Script, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = script(pausing(), finishing())
    case = paused_case(register(agent), alice)
    decide(only_task(case), alice)
    resolve = egress._resolve

    async def inward(host: str, port: int) -> list[Any]:
        return await resolve("169.254.169.254", port)

    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(egress, "_resolve", inward)
        work()
    assert (delivery(case).state, len(agent.resumes)) == ("ready", 0)
    due_again()
    work()
    assert (delivery(case).state, len(agent.resumes)) == ("finished", 1)

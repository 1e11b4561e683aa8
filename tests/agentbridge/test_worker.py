"""The worker: quick, parallel, graceful, and never two for one delivery."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from agentbridge.delivery import resuming, sealing
from agentbridge.delivery.backoff import Breakers
from agentbridge.delivery.tickets import Ticket
from agentbridge.models import Resume, Run
from agentbridge.work import delivering, leases
from agentbridge.work import worker as at_work
from agentbridge.work.room import Room
from agentbridge.work.worker import Worker
from approvals import clock
from approvals.models import Case, User
from tests.bridge_work import Script, ask, delivery, paused_case, register, work
from tests.people import decide, only_task
from tests.scripted_agent import Answer, call, finished, finishing, interrupt, pausing, started
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def working(count: int = 1) -> Iterator[list[Worker]]:
    """Workers that run beside the test, each with an event loop of its own."""
    workers = [Worker() for _ in range(count)]
    threads = [threading.Thread(target=work, args=(worker, False)) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        yield workers
    finally:
        for worker in workers:
            worker.stop_soon()
        for thread in threads:
            thread.join(PATIENCE)


def lasted(holds: Any) -> float:
    began = time.monotonic()
    until(holds)
    return time.monotonic() - began


def test_the_open_socket_of_a_paused_run_keeps_nobody_waiting(
    script: Script, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering, "TRAILING_SECONDS", 600)  # an end of its own is not what is looked at
    agent = script(Answer([started(), call(), finished(interrupt()), *[b": ping\n\n", 0.1] * 6000]), finishing())
    with working():
        ask(register(agent), alice)
        until(Case.objects.exists)
        case = Case.objects.get()
        decide(only_task(case), alice)
        until(lambda: len(agent.posts) == 2)
        until(lambda: agent.open == 0)
        until(lambda: delivery(case).state == "finished")


def test_a_pause_is_seen_and_an_answer_leaves_without_waiting_for_a_poll(
    script: Script, alice: User, monkeypatch: Any
) -> None:
    monkeypatch.setattr(at_work, "POLL_SECONDS", 10)
    agent = script(*[pausing(), finishing()] * 5)
    payer = register(agent)
    pauses, answers = [], []
    with working():
        for number in range(5):
            ask(payer, alice, thread_id=f"thread-{number}")
            pauses.append(lasted(lambda n=number: Case.objects.count() == n + 1))
            decide(only_task(Case.objects.latest("pk")), alice)
            answers.append(lasted(lambda n=number: len(agent.posts) == 2 * n + 2))
    # The best of five: a poll would show in every one; a ring is a hint, and may be lost.
    assert min(pauses) < 5 and min(answers) < 5


def test_four_workers_send_each_answer_once(script: Script, alice: User) -> None:
    agent = script(*[pausing()] * 12, finishing())
    payer = register(agent)
    for number in range(12):
        ask(payer, alice, thread_id=f"thread-{number}")
    with working(4):
        until(lambda: Case.objects.count() == 12)
        for case in Case.objects.all():
            decide(only_task(case), alice)
        until(lambda: Case.objects.filter(state="delivered").count() == 12)
    assert len(agent.posts) == 24
    assert len({post.json["threadId"] for post in agent.posts if post.resume}) == 12


def test_an_agent_gets_at_most_so_many_requests_before_it_answers(script: Script, alice: User, settings: Any) -> None:
    settings.AGENT_PARALLEL = 2
    slow = Answer([0.2, *pausing().parts])
    agent = script(slow)
    payer = register(agent)
    for number in range(6):
        ask(payer, alice, thread_id=f"thread-{number}")
    work()
    assert len(agent.posts) == 6
    assert agent.most_open == 2


def test_a_stop_lets_open_streams_end(script: Script, alice: User) -> None:
    told_to_stop = threading.Event()
    agent = script(pausing(), Answer([started(), told_to_stop, *finishing().parts[1:]]))
    case = paused_case(register(agent), alice)
    with working() as [worker]:
        decide(only_task(case), alice)
        until(lambda: delivery_state(case) == "accepted")
        worker.stop_soon()
        until(worker.stopping.is_set)
        told_to_stop.set()
    assert delivery(case).state == "finished"


def delivery_state(case: Case) -> str | None:
    resume = case.resumes.first()
    return resume.state if resume else None


def test_a_first_run_that_cannot_be_sent_is_never_tried_again(script: Script, alice: User) -> None:
    agent = script(pausing())
    payer = register(agent)
    agent.down()
    run = ask(payer, alice)
    work()
    agent.up()
    work()
    run.refresh_from_db()
    assert (run.status, agent.posts) == (Run.Status.UNSENT, [])
    assert "refused" in run.error.lower() or "connect" in run.error.lower()


def test_a_look_claims_no_more_than_there_is_time_for(script: Script, alice: User, monkeypatch: Any) -> None:
    monkeypatch.setattr(at_work, "CLAIM_SECONDS", 0)
    payer = register(script(pausing()))
    runs = [ask(payer, alice, thread_id=f"thread-{number}").pk for number in range(5)]
    claimed = at_work.find_work("one", Breakers(), Room(10), sweep=False)[0]
    assert {ticket.run_pk for ticket in claimed} == {runs[0], runs[-1]}  # one of each half: the oldest and the newest
    work()
    assert Run.objects.filter(status=Run.Status.INTERRUPTED).count() == 3


def test_a_look_seals_no_more_than_there_is_time_for(script: Script, alice: User, monkeypatch: Any) -> None:
    payer = register(script(pausing(), pausing(), pausing(), finishing()))
    for number in range(3):
        ask(payer, alice, thread_id=f"thread-{number}")
    work()
    for case in Case.objects.all():
        decide(only_task(case), alice)
    monkeypatch.setattr(at_work, "SEAL_SECONDS", 0)
    tickets, more = at_work.find_work("one", Breakers(), Room(0), sweep=False)
    assert (tickets, more, Case.objects.exclude(taken_at=None).count()) == ([], True, 2)
    work()
    assert Case.objects.filter(state="delivered").count() == 3


def test_who_decides_last_is_served_first_however_late_the_others_were_sealed(script: Script, alice: User) -> None:
    payer = register(script(pausing(), pausing()))
    early, late = (paused_case(payer, alice, thread_id=f"thread-{number}") for number in range(2))
    for case in (early, late):
        decide(only_task(case), alice)
    for case in (late, early):
        sealing.seal(case, now=timezone.now())
    (first, _agent), *_others = resuming.claimable(timezone.now(), closed=set(), limit=9)
    assert Resume.objects.get(pk=first).case == late


def test_each_lease_runs_from_its_own_claim(script: Script, alice: User, settings: Any, monkeypatch: Any) -> None:
    payer = register(script(pausing()))
    for number in range(3):
        ask(payer, alice, thread_id=f"thread-{number}")
    began, seconds = timezone.now(), count()

    def a_second_later() -> datetime:
        return began + timedelta(seconds=next(seconds))

    monkeypatch.setattr(clock, "now", a_second_later)
    at_work.find_work("one", Breakers(), Room(10), sweep=False)
    ends = Run.objects.order_by("pk").values_list("lease_until", flat=True)
    assert sorted((end - began).total_seconds() - settings.LEASE_SECONDS for end in ends) == [1, 2, 3]


def test_a_heartbeat_renews_only_ones_own_living_leases(script: Script, alice: User) -> None:
    payer = register(script(pausing()))
    runs = [ask(payer, alice, thread_id=f"thread-{number}").pk for number in range(4)]
    tickets, _more = at_work.find_work("one", Breakers(), Room(10), sweep=False)
    soon, past = timezone.now() + timedelta(seconds=20), timezone.now() - timedelta(seconds=1)
    Run.objects.update(lease_until=soon)
    Run.objects.filter(pk=runs[1]).update(lease_until=past)
    Run.objects.filter(pk=runs[2]).update(lease_owner="two")
    under_way = [ticket for ticket in tickets if ticket.run_pk != runs[3]]
    leases.renew("one", under_way)  # the fourth attempt has ended, and could not be let go of
    ends = list(Run.objects.order_by("pk").values_list("lease_until", flat=True))
    assert ends[0] > soon and ends[1:] == [past, soon, soon]


def test_a_heartbeat_renews_the_lease_of_an_ended_run_that_is_read_on(script: Script, alice: User) -> None:
    ask(register(script(pausing())), alice)
    tickets, _more = at_work.find_work("one", Breakers(), Room(10), sweep=False)
    soon = timezone.now() + timedelta(seconds=1)
    Run.objects.update(status=Run.Status.SUCCEEDED, lease_until=soon)
    leases.renew("one", tickets)
    assert Run.objects.filter(lease_until__gt=soon).exists()


@pytest.mark.postgres
def test_a_row_that_is_held_costs_the_others_no_lease(script: Script, alice: User) -> None:
    payer = register(script(pausing()))
    held, free = (ask(payer, alice, thread_id=f"thread-{number}") for number in range(2))
    tickets, _more = at_work.find_work("one", Breakers(), Room(10), sweep=False)
    before = Run.objects.get(pk=free.pk).lease_until
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=held.pk)
        renewing = threading.Thread(target=renew_and_leave, args=(tickets,))
        renewing.start()
        until(lambda: Run.objects.get(pk=free.pk).lease_until != before)
    renewing.join()
    assert Run.objects.get(pk=held.pk).lease_until == Run.objects.get(pk=free.pk).lease_until


def renew_and_leave(tickets: list[Ticket]) -> None:
    leases.renew("one", tickets)
    connection.close()

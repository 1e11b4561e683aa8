"""Trouble of the whole database while an answer leaves or comes in: it is waited out, and nothing is done twice."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.utils import timezone

from agentbridge.delivery import resuming
from agentbridge.delivery.backoff import Breakers
from agentbridge.models import Incident, Run
from agentbridge.runs import concluding, noticing, queueing
from agentbridge.runs.recorder import Recording
from agentbridge.wire.reading import Reader
from agentbridge.work import database, delivering, leases, sweeping
from agentbridge.work import worker as at_work
from agentbridge.work.room import Room
from agentbridge.work.worker import Worker, find_work
from approvals.models import Case, User
from tests.bridge_work import Script, delivery, paused_case, register, work, work_until_it_rests
from tests.people import decide, only_task, verbs
from tests.scripted_agent import Answer, ScriptedAgent, failed, finished, pausing, result, started
from tests.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)
Stumble = Callable[..., None]


@pytest.fixture
def stumble(monkeypatch: pytest.MonkeyPatch) -> Stumble:
    """`stumble(where, name)`: the first call fails; with `done` only after it did its work, as an unheard commit."""

    def arrange(where: Any, name: str, *, done: bool) -> None:
        whole, calls = getattr(where, name), [0]

        def first_fails(*args: Any, **kwargs: Any) -> Any:
            calls[0] += 1
            found = whole(*args, **kwargs) if done or calls[0] > 1 else None
            if calls[0] == 1:
                raise OperationalError("the server went away")
            return found

        monkeypatch.setattr(where, name, first_fails)

    monkeypatch.setattr(database, "PAUSE_SECONDS", 0.01)
    return arrange


@pytest.fixture
def agent(script: Script) -> ScriptedAgent:
    return script(pausing(), Answer([started() + result("paid"), finished()]))


@pytest.fixture
def case(agent: ScriptedAgent, alice: User) -> Case:
    found = paused_case(register(agent), alice)
    decide(only_task(found), alice)
    return found


@pytest.mark.parametrize("done", [False, True], ids=["undone", "unheard"])
@pytest.mark.parametrize(
    ("where", "name"),
    [(delivering, "begin"), (Recording, "opened"), (Recording, "_write"), (concluding, "accepted"),
     (noticing, "results"), (concluding, "conclude"), (noticing, "last_words")],
)  # fmt: skip
def test_what_an_agent_says_meanwhile_is_kept_once(
    agent: ScriptedAgent, case: Case, stumble: Stumble, where: Any, name: str, done: bool
) -> None:
    stumble(where, name, done=done)
    work()
    assert (delivery(case).state, only_task(case).conclusion, len(agent.resumes)) == (
        "finished", "Executed as approved.", 1,
    )  # fmt: skip
    assert [verbs(case).count(verb) for verb in ("delivery.armed", "task.result", "delivery.finished")] == [1, 1, 1]
    stream = b"".join(bytes(each.data) for each in Run.objects.latest("pk").chunks.order_by("n"))
    assert [stream.count(word) for word in (b"RUN_STARTED", b"_RESULT", b"RUN_FINISHED")] == [1, 1, 1]


def test_what_comes_after_the_end_of_a_run_is_not_lost(script: Script, alice: User, stumble: Stumble) -> None:
    more = Answer([started() + result("paid"), finished(), 2 * delivering.BATCH_SECONDS, failed("the disk was full")])
    case = paused_case(register(script(pausing(), more)), alice)
    decide(only_task(case), alice)
    stumble(delivering, "is_needed", done=False)
    work()
    assert [each.kind for each in Incident.objects.filter(case=case)] == ["late_error"]


def test_what_was_half_read_is_read_anew_from_the_record(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls = Reader.feed, [0]

    def runs_out(reader: Reader, data: bytes) -> Any:
        found, calls[0] = whole(reader, data), calls[0] + 1
        if calls[0] == 1:
            raise MemoryError
        return found

    monkeypatch.setattr(Reader, "feed", runs_out)
    work()
    work()  # another worker, which sweeps first
    run = Run.objects.latest("pk")
    assert [bytes(each.data).count(b"RUN_STARTED") for each in run.chunks.order_by("n")] == [1]
    assert verbs(case).count("task.result") == 1


def test_what_could_not_be_read_again_is_read_in_the_next_round(
    case: Case, stumble: Stumble, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(Recording, "act", Mock(side_effect=KeyError("killed before it understood")))
        work()
    assert delivery(case).state == "armed"
    stumble(concluding, "accepted", done=False)
    sweeping.sweep(timezone.now())
    sweeping.sweep(timezone.now())
    assert [verbs(case).count(f"delivery.{state}") for state in ("accepted", "in_doubt")] == [1, 0]


def test_trouble_is_no_loss_of_a_reader(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(Recording, "act", Mock(side_effect=KeyError("killed before it understood")))
        work()
    with monkeypatch.context() as away:
        away.setattr(concluding, "accepted", Mock(side_effect=OperationalError("the server went away")))
        for _ in range(leases.READERS + 1):
            sweeping.sweep(timezone.now())
    sweeping.sweep(timezone.now())
    assert delivery(case).state == "finished"


@pytest.mark.parametrize("done", [False, True], ids=["undone", "unheard"])
def test_what_could_not_be_armed_is_sent_later_and_uses_up_nothing(
    agent: ScriptedAgent, case: Case, stumble: Stumble, done: bool
) -> None:
    stumble(resuming, "arm", done=done)
    work_until_it_rests()
    assert (delivery(case).state, delivery(case).attempts_made, delivery(case).lost_leases) == ("finished", 1, 0)
    assert len(agent.resumes) == 1


def test_what_is_claimed_goes_its_way_when_the_next_queue_cannot_be_read(case: Case, stumble: Stumble) -> None:
    stumble(queueing, "claimable", done=False)
    tickets, _ = find_work("one", Breakers(), Room(10), sweep=False)
    assert [ticket.resume_pk for ticket in tickets] == [delivery(case).pk]


def test_trouble_while_it_waits_is_not_the_end_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = threading.Semaphore(0)

    def gone() -> int:
        looks.release()
        raise OperationalError("the server went away")

    monkeypatch.setattr(at_work, "head_of_trail", gone)
    worker = Worker()
    thread = threading.Thread(target=work, args=(worker, False))
    thread.start()
    try:
        assert all(looks.acquire(timeout=PATIENCE) for _ in range(3))
    finally:
        if thread.is_alive():
            worker.stop_soon()
        thread.join(PATIENCE)


def test_trouble_that_does_not_end_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> None:
        db = database.DatabaseThreads(1)
        try:
            await db.surely(gone)
        finally:
            await db.close()

    def gone() -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(database, "PATIENCE_SECONDS", 0)
    with pytest.raises(OperationalError):
        asyncio.run(ask())

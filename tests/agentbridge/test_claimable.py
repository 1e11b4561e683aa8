"""Which answers a worker looks at first: a crowd at one agent's door keeps nobody else waiting."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agentbridge.delivery import resuming, sealing
from agentbridge.delivery.turns import Memory
from agentbridge.models import Agent, Run
from agentbridge.models.agents import key_of
from agentbridge.runs import queueing
from approvals.models import Case, Queue
from tests import bridge_rows as rows
from tests.people import OpenCase


@pytest.fixture
def agents(payments: Queue, settings: Any) -> tuple[Agent, Agent]:
    settings.AGENT_PARALLEL = 2
    return rows.add_agent(payments, "crowded"), rows.add_agent(payments, "quiet")


@pytest.fixture
def ready(open_case: OpenCase) -> Any:
    """`ready(agent, 3)`: its third delivery, on a thread of its own."""

    def make(agent: Agent, n: int, state: str = "ready") -> None:
        thread = f"{agent.slug}-{n}"
        case = open_case(case={"agent": agent.slug, "thread_key": key_of(thread)})
        rows.seal(case, rows.add_run(agent, f"run-{thread}", thread), state=state)

    return make


def queued(agent: Agent, n: int, **more: Any) -> None:
    name = f"{agent.slug}-{n}"
    rows.add_run(agent, name, name, **{"status": Run.Status.QUEUED, "armed_at": None, "accepted_at": None, **more})


def looked_at(limit: int, queue: Any = resuming, memory: Memory | None = None) -> list[str]:
    found = queue.claimable(timezone.now(), closed=set(), limit=limit, memory=memory)
    return [Agent.objects.get(pk=agent).slug for _row, agent in found]


def test_the_only_answer_to_an_agent_is_not_behind_the_many_of_others(agents: Any, ready: Any, payments: Any) -> None:
    third = rows.add_agent(payments, "busy")
    for n in range(4):
        ready(agents[0], n)
        ready(third, n)
    ready(agents[1], 0)
    assert looked_at(limit=1) == ["quiet"]


def test_who_is_answered_now_goes_first_however_much_is_left_of_before(agents: Any, ready: Any, payments: Any) -> None:
    third = rows.add_agent(payments, "busy")
    ready(third, 0)
    for n in range(4):
        ready(agents[0], n)
    assert looked_at(limit=1) == ["crowded"]


def test_every_second_place_goes_round_among_all(agents: Any, ready: Any, payments: Any) -> None:
    for n in range(3):
        ready(agents[0], n)
    for slug in ("first", "second", "third"):
        ready(rows.add_agent(payments, slug), 0)
    assert looked_at(limit=5) == ["third", "crowded", "second", "first", "crowded"]
    began = Memory(last=agents[0].pk)
    assert looked_at(limit=5, memory=began) == ["third", "first", "second", "crowded", "crowded"]


def test_where_there_is_one_place_the_round_has_it_in_every_second_look(agents: Any, ready: Any) -> None:
    for agent in agents:
        for n in range(3):
            ready(agent, n)
    memory = Memory()
    assert [looked_at(limit=1, memory=memory) for _ in range(4)] == [["quiet"], ["crowded"], ["quiet"], ["quiet"]]


def test_in_twice_as_many_looks_as_there_are_agents_each_has_a_place(agents: Any, ready: Any, payments: Any) -> None:
    others = [rows.add_agent(payments, f"other-{n}") for n in range(3)]
    for agent in (agents[0], *others):
        for n in range(3):
            ready(agent, n)
    memory = Memory()
    assert {slug for _look in range(8) for slug in looked_at(limit=1, memory=memory)} == {
        "crowded", "other-0", "other-1", "other-2"
    }  # fmt: skip


def test_what_is_under_way_counts_like_a_row_before(agents: Any, ready: Any, payments: Any, settings: Any) -> None:
    settings.AGENT_PARALLEL = 3
    for n, state in enumerate(["leased", "armed", "ready"]):
        ready(agents[0], n, state)
    ready(agents[1], 0)
    ready(rows.add_agent(payments, "newest"), 0)
    assert looked_at(limit=2) == ["newest", "quiet"]


def test_a_crowded_agent_takes_no_more_places_than_it_may_be_asked_at_once(agents: Any, ready: Any) -> None:
    for n in range(4):
        ready(agents[0], n)
    ready(agents[1], 0)
    assert sorted(looked_at(limit=9)) == ["crowded", "crowded", "quiet"]


def test_an_agent_with_enough_to_do_takes_no_place(agents: Any, ready: Any) -> None:
    for n, state in enumerate(["leased", "armed", "ready"]):
        ready(agents[0], n, state)
    ready(agents[1], 0)
    assert looked_at(limit=9) == ["quiet"]


def test_first_runs_keep_to_the_same_turns(agents: Any) -> None:
    for n in range(4):
        queued(agents[0], n)
    queued(agents[1], 0)
    assert looked_at(9, queueing) == ["quiet", "crowded", "crowded"]


def test_an_agent_that_is_asked_for_enough_first_runs_takes_no_place(agents: Any) -> None:
    soon = timezone.now() + timedelta(seconds=20)
    for n, owner in enumerate(["one", "one", ""]):
        queued(agents[0], n, lease_owner=owner, lease_until=soon if owner else None)
    queued(agents[1], 0)
    assert looked_at(9, queueing) == ["quiet"]


def test_answers_are_sealed_in_the_same_turns(open_case: OpenCase) -> None:
    now = timezone.now()
    for age, agent in ((4, "crowded"), (3, "crowded"), (2, "crowded"), (1, "quiet")):
        case, at = open_case(case={"agent": agent}), now - timedelta(seconds=age)
        Case.objects.filter(pk=case.pk).update(state="settled", settled_at=at, deliver_after=at)
    assert [case.agent for case in sealing.due(now, limit=2)] == ["quiet", "crowded"]

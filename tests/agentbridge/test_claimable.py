"""Which deliveries a worker looks at: a crowd at one agent's door keeps nobody else waiting."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from agentbridge.delivery import resuming
from agentbridge.models import Agent, Run
from agentbridge.models.agents import key_of
from agentbridge.runs import queueing
from approvals.models import Queue
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


def looked_at(limit: int) -> list[str]:
    found = resuming.claimable(timezone.now(), closed=set(), limit=limit)
    return [Agent.objects.get(pk=agent).slug for _resume, agent in found]


def test_a_crowded_agent_takes_no_more_places_than_it_may_be_asked_at_once(agents: Any, ready: Any) -> None:
    for n in range(4):
        ready(agents[0], n)
    ready(agents[1], 0)
    assert looked_at(limit=3) == ["crowded", "crowded", "quiet"]


def test_an_agent_with_enough_to_do_takes_no_place(agents: Any, ready: Any) -> None:
    for n, state in enumerate(["leased", "armed", "ready"]):
        ready(agents[0], n, state)
    ready(agents[1], 0)
    assert looked_at(limit=1) == ["quiet"]


def test_first_runs_of_a_crowded_agent_take_no_more_places_either(agents: Any) -> None:
    for agent, n in ((agents[0], 0), (agents[0], 1), (agents[0], 2), (agents[1], 0)):
        rows.add_run(agent, f"{agent.slug}-{n}", f"{agent.slug}-{n}", status=Run.Status.QUEUED, armed_at=None)
    found = queueing.claimable(timezone.now(), closed=set(), limit=3)
    assert [agent for _run, agent in found] == [agents[0].pk, agents[0].pk, agents[1].pk]

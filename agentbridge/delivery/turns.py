"""Whose turn it is when there is not time for all at once: no answer waits behind another agent's crowd.

By age alone, one answer to a good agent waits until a thousand to agents in trouble have been tried. So every second
place goes to what was asked for last: whoever decides now is served now, however much was left lying. The others go
round among all agents, the oldest of each first, so that nobody waits for ever. Often there is room or time for one
alone: so each of the two halves begins every second look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import F, QuerySet, Window
from django.db.models.expressions import Combinable, OrderBy
from django.db.models.functions import RowNumber

from agentbridge.models import DeliveryState, Resume, Run


class Waiting(NamedTuple):
    """One row that could be taken now: the n-th of its agent, asked for by a person at that time."""

    pk: int
    agent: Any
    turn: int
    asked_at: datetime


@dataclass(slots=True)
class Memory:
    """What a worker keeps of one queue from look to look. Looks that found nothing to take do not count: with a full
    house they are every second one."""

    looks: int = 0
    last: Any = None  # the agent with which the round began last; by name, for who waits changes from look to look


def in_turn(
    rows: QuerySet[Any], *, agent: str, asked_at: str | Combinable, oldest: Sequence[OrderBy], most: int,
    busy: Mapping[Any, int], memory: Memory | None,
) -> list[tuple[int, Any]]:
    """(row, agent) in the order in which they are to be taken; of each agent its `most` oldest.

    `agent` names the member that says whose a row is, `asked_at` the one that says when a person asked for it.
    """  # fmt: skip
    turn = Window(RowNumber(), partition_by=F(agent), order_by=oldest)
    first = rows.annotate(turn=turn).filter(turn__lte=most).order_by(*oldest)
    by_age = [Waiting(*row) for row in first.values_list("pk", agent, "turn", asked_at)]
    return mixed(by_age, busy=busy, memory=memory or Memory()) if by_age else []


def mixed(by_age: Sequence[Waiting], *, busy: Mapping[Any, int], memory: Memory) -> list[tuple[int, Any]]:
    """Both halves by turns. `busy`: how many requests each agent has under way."""

    def place(row: Waiting) -> tuple[int, bool, Any]:
        """An agent's second row comes after the first of all others; what is under way counts like a row before."""
        had_its_turn = memory.last is not None and row.agent <= memory.last
        return row.turn + busy.get(row.agent, 0), had_its_turn, row.agent

    newest_first = sorted(by_age, key=lambda row: row.asked_at, reverse=True)
    all_round = sorted(by_age, key=place)
    halves = [newest_first, all_round]
    if memory.looks % 2:
        halves, memory.last = halves[::-1], all_round[0].agent
    memory.looks += 1
    both = chain.from_iterable(zip(*halves, strict=True))
    return [(row.pk, row.agent) for row in dict.fromkeys(both)]


def requests() -> tuple[QuerySet[Resume], QuerySet[Run]]:
    """Answers and first runs that are between the claim and the agent's first event."""
    first = Run.objects.in_flight().filter(kind=Run.Kind.FIRST, accepted_at=None, lease_until__isnull=False)
    resumes = Resume.objects.filter(state__in=[DeliveryState.LEASED, DeliveryState.ARMED])
    return resumes.order_by(), first.exclude(lease_owner="").order_by()


def under_way() -> Counter[int]:
    """How many such requests each agent has."""
    resumes, first = requests()
    return Counter(resumes.values_list("agent", flat=True)) + Counter(first.values_list("thread__agent", flat=True))


def full(busy: Mapping[int, int]) -> set[int]:
    """Agents that have enough to do already; `claim` looks again under lock."""
    return {agent for agent, requests in busy.items() if requests >= settings.AGENT_PARALLEL}

"""Whose turn it is when there is not time for all at once: no answer waits behind another agent's crowd.

By age alone, one answer to a good agent waits until a thousand to agents in trouble have been tried. So every second
place goes to what was asked for last: whoever decides now is served now, however much was left lying. The others go
round among all agents, the oldest of each first, so that nobody waits for ever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from django.conf import settings
from django.db.models import F, QuerySet, Window
from django.db.models.expressions import OrderBy
from django.db.models.functions import RowNumber

from agentbridge.models import DeliveryState, Resume, Run


def in_turn(
    rows: QuerySet[Any], *, agent: str, asked_at: str, oldest: Sequence[OrderBy], most: int,
    busy: Mapping[Any, int], look: int,
) -> list[tuple[int, Any]]:
    """(row, agent) in the order in which they are to be taken; of each agent its `most` oldest.

    `agent` names the member that says whose a row is, `asked_at` the one that says when a person asked for it. `busy`:
    how many requests each agent has under way. `look` counts the worker's looks: the round begins one agent further on.
    """  # fmt: skip
    turn = Window(RowNumber(), partition_by=F(agent), order_by=oldest)
    first = rows.annotate(turn=turn).filter(turn__lte=most).order_by(*oldest)
    by_age = list(first.values_list("pk", agent, "turn", asked_at))
    places = {whose: n for n, whose in enumerate(sorted({row[1] for row in by_age}))}
    newest_first = sorted(by_age, key=lambda row: row[3], reverse=True)
    # An agent's second row comes after the first of all others; what is under way counts like a row before.
    all_round = sorted(by_age, key=lambda row: (row[2] + busy.get(row[1], 0), (places[row[1]] - look) % len(places)))
    both = chain.from_iterable(zip(newest_first, all_round, strict=True))
    return [(pk, whose) for pk, whose, _turn, _asked_at in dict.fromkeys(both)]


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

"""Nobody waits for ever: every crowd, as often as somebody is answered meanwhile, with one place at a time or more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby, product

import pytest

from agentbridge.delivery.turns import Memory, Waiting, mixed

MOST = 2  # of one agent's rows that are looked at
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


class Desk:
    """Rows that wait for their agents, by age; workers that take from them, each with its own count of looks."""

    def __init__(self, crowds: tuple[int, ...], *, workers: int = 1) -> None:
        self.waiting: list[tuple[int, int]] = []  # (row, agent)
        self.asked = 0
        self.memories = [Memory() for _ in range(workers)]
        for agent, crowd in enumerate(crowds):
            for _ in range(crowd):
                self.ask(agent)

    def ask(self, agent: int) -> None:
        self.waiting.append((self.asked, agent))
        self.asked += 1

    def look(self, worker: int, places: int, busy: Counter[int]) -> list[tuple[int, int]]:
        """What this worker takes, as `claimable` finds it and `claimed` goes through it."""
        free = [(pk, agent) for pk, agent in self.waiting if busy[agent] < MOST]
        rows = list(oldest_of_each(free))
        order = mixed(rows, busy=busy, memory=self.memories[worker]) if rows else []
        taken = order[:places]
        self.waiting = [row for row in self.waiting if row not in taken]
        return taken


def oldest_of_each(rows: list[tuple[int, int]]) -> Iterator[Waiting]:
    for agent, mine in groupby(sorted(rows, key=lambda row: row[1]), key=lambda row: row[1]):
        for turn, (pk, _agent) in enumerate(sorted(mine)[:MOST], start=1):
            yield Waiting(pk, agent, turn, NOON + timedelta(seconds=pk))


@pytest.mark.parametrize(("places", "workers"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("agents", [1, 2, 3, 4, 5])
def test_the_oldest_answer_of_every_agent_has_a_place_in_time(agents: int, places: int, workers: int) -> None:
    for answered, quiet in product(range(agents), repeat=2):
        crowds = tuple(1 if agent == quiet else 3 for agent in range(agents))
        desk = Desk(crowds, workers=workers)
        first = {agent: next(row for row in desk.waiting if row[1] == agent) for agent in range(agents)}
        for look in range(2 * agents * workers):
            desk.ask(answered)
            desk.look(look % workers, places, Counter())
        assert not set(first.values()) & set(desk.waiting), (answered, quiet)


def test_whoever_is_answered_now_has_the_only_place_in_every_second_look() -> None:
    desk, served = Desk((5, 5, 5)), Counter[int]()
    for _ in range(20):
        desk.ask(3)
        served.update(agent for _row, agent in desk.look(0, 1, Counter()))
    assert served[3] >= 10 and all(served[agent] >= 2 for agent in range(3))


def test_an_agent_whose_request_is_under_way_comes_after_those_that_wait_for_their_first() -> None:
    desk, round_begins = Desk((2, 2, 2)), Memory(looks=1)
    desk.memories = [round_begins]
    assert [agent for _row, agent in desk.look(0, 1, Counter({0: 1}))] == [1]


def test_an_agent_with_enough_under_way_is_not_looked_at() -> None:
    assert {agent for _row, agent in Desk((2, 2)).look(0, 9, Counter({0: MOST}))} == {1}


def test_the_round_goes_on_where_it_was_though_others_come_and_go() -> None:
    desk = Desk((1, 1, 0, 1))
    desk.memories = [Memory(looks=1, last=0)]
    assert desk.look(0, 1, Counter()) == [(1, 1)]
    desk.ask(2)
    desk.memories[0].looks = 1
    assert [agent for _row, agent in desk.look(0, 1, Counter())] == [2]

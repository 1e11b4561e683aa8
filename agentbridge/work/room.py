"""The streams that a worker may still open: an agent whose streams stay open for long leaves some to the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

SHARE = 4  # an agent may have so many times as many open as are still free: of 200, one alone gets 160


class Room:
    """`left` places. `streams`: the agent of each stream that is open already."""

    def __init__(self, left: int, streams: Iterable[int] = ()) -> None:
        self.left = left
        self._open = Counter(streams)

    def full(self) -> set[int]:
        """Agents that get no place now."""
        return {agent for agent in self._open if not self.admits(agent)}

    def admits(self, agent: int) -> bool:
        return self.left > 0 and self._open[agent] < SHARE * self.left

    def take(self, agent: int) -> None:
        self.left -= 1
        self._open[agent] += 1

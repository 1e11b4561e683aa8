"""How fast Countersign is, as ratios measured side by side in one run: `python -m benchmarks [names]`.

A module here adds rows with `@row`; `__main__` imports every module of the package and runs what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One row's outcome: what it says, and whether the goal was met."""

    figure: str  # "0.71 ×"
    met: bool
    detail: str = ""  # the times behind it


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table. `measure` runs on an empty, migrated database."""

    name: str
    what: str
    goal: str
    measure: Callable[[], Measured]


ROWS: dict[str, Row] = {}


def row(name: str, *, what: str, goal: str) -> Callable[[Callable[[], Measured]], Callable[[], Measured]]:
    """Put a function into the table."""

    def add(measure: Callable[[], Measured]) -> Callable[[], Measured]:
        ROWS[name] = Row(name=name, what=what, goal=goal, measure=measure)
        return measure

    return add

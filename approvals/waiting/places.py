"""Where a page of the queue ended, as a word for its address. Pure.

A flood of one agent takes turns with the others (`approvals.waiting.fairness`): then two places are kept.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

RANKS = {"high": 2, "medium": 1, "low": 0}  # risk of the queue: the higher one comes first


@dataclass(frozen=True, slots=True)
class Place:
    """A row in the order of the queue: deadline, risk, age."""

    due_at: datetime | None
    rank: int
    pk: int


@dataclass(frozen=True, slots=True)
class Places:
    """Where the rows ended; with `agent`, those of all others and, in `flood`, those of that one."""

    rows: Place | None = None
    agent: str = ""
    flood: Place | None = None

    def __str__(self) -> str:
        told = [_told(self.rows)] + ([self.agent, _told(self.flood)] if self.agent else [])
        return base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")


def read(text: str) -> Places:
    """An unreadable place is the beginning."""
    try:
        told = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        rows, agent, flood = told if len(told) == 3 else (*told, "", None)
        return Places(_place(rows), str(agent), _place(flood))
    except (ValueError, TypeError, binascii.Error):
        return Places()


def _told(place: Place | None) -> list[Any] | None:
    return None if place is None else [place.due_at and place.due_at.isoformat(), place.rank, place.pk]


def _place(told: Any) -> Place | None:
    if told is None:
        return None
    due_at, rank, pk = told
    return Place(datetime.fromisoformat(due_at) if due_at else None, int(rank), int(pk))

"""How many decisions a question finds, of which kind, and when: one query, whatever the length of the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from django.db.models import BooleanField, CharField, Count, ExpressionWrapper, Func, Q, QuerySet

from approvals.models import Decision
from approvals.models.cases import Verdict

EDITED = "edited"
KINDS = (Verdict.APPROVED, EDITED, Verdict.REJECTED, Verdict.ANSWERED, Verdict.CANCELLED)  # in the order drawn
MOST_BARS = 62  # days up to two months, then weeks, then months


@dataclass(frozen=True)
class Period:
    """One bar: its first day and how many of each kind."""

    start: date
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True)
class Counts:
    """`unit`: day, week or month. Without decisions there are no periods."""

    unit: str
    periods: Sequence[Period]

    @property
    def total(self) -> int:
        return sum(period.total for period in self.periods)

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """Every kind that occurs with its number."""
        sums = [(str(kind), sum(period.counts.get(kind, 0) for period in self.periods)) for kind in KINDS]
        return [(kind, number) for kind, number in sums if number]


class UTCDay(Func):
    """The day of a moment as text. SQLite keeps moments as text in UTC; Django would call Python for every row."""

    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return super().as_sql(compiler, connection, template="substr(%(expressions)s, 1, 10)", **more)

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        template = "to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
        return super().as_sql(compiler, connection, template=template, **more)


def counted(found: QuerySet[Decision]) -> Counts:
    """By day, gathered into weeks or months where days would be too many to look at."""
    edited = ExpressionWrapper(Q(edits__isnull=False), output_field=BooleanField())
    days = found.annotate(day=UTCDay("at"), edited=edited).values_list("day", "verdict", "edited")
    told = days.annotate(n=Count("pk")).order_by()
    rows = [(date.fromisoformat(day), EDITED if edited else verdict, n) for day, verdict, edited, n in told]
    if not rows:
        return Counts("day", [])
    first, last = min(day for day, *_rest in rows), max(day for day, *_rest in rows)
    unit = unit_for(first, last)
    periods = {start: Period(start) for start in starts(first, last, unit)}
    for day, kind, number in rows:
        counts = periods[start_of(day, unit)].counts
        counts[kind] = counts.get(kind, 0) + number
    return Counts(unit, list(periods.values()))



def unit_for(first: date, last: date) -> str:
    days = (last - first).days + 1
    return "day" if days <= MOST_BARS else "week" if days <= MOST_BARS * 7 else "month"


def start_of(day: date, unit: str) -> date:
    if unit == "month":
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if unit == "week" else day


def starts(first: date, last: date, unit: str) -> list[date]:
    """The first day of every period, also of those without decisions."""
    found, day = [], start_of(first, unit)
    while day <= last:
        found.append(day)
        day = start_of(day + timedelta(days={"day": 1, "week": 7, "month": 31}[unit]), unit)
    return found

"""Bars as numbers for an SVG that the server draws: no script, no library. The table below it says the same."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from approvals.workbench.counting import KINDS, Counts, Period

WIDTH, HEIGHT = 860, 150
LEFT, TOP, FLOOR = 34, 16, 126  # of the field in which bars stand
WIDEST = 40
LABELS = 16  # dates that fit below


@dataclass(frozen=True)
class Bar:
    """One rectangle; numbers are texts, so that no language puts a comma into them."""

    kind: str
    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True)
class Line:
    y: str
    text_y: str
    value: int


@dataclass(frozen=True)
class Label:
    x: str
    text: str


@dataclass(frozen=True)
class Chart:
    bars: list[Bar]
    lines: list[Line]
    labels: list[Label]
    said: str  # what it shows, in words


def drawn(counts: Counts) -> Chart | None:
    """None where there is nothing to draw."""
    if not counts.total:
        return None
    top = nice(max(period.total for period in counts.periods))
    step = min((WIDTH - LEFT) / len(counts.periods), WIDEST * 2.5)  # few bars stand where a phone shows them
    width = min(WIDEST, step * 0.6)
    bars = [
        bar
        for place, period in enumerate(counts.periods)
        for bar in stacked(period, x=LEFT + place * step + (step - width) / 2, width=width, top=top)
    ]
    every = math.ceil(len(counts.periods) / LABELS)
    labels = [
        Label(f"{LEFT + place * step + step / 2:.1f}", day_text(period, counts.unit))
        for place, period in enumerate(counts.periods)
        if place % every == 0
    ]
    return Chart(bars, grid(top), labels, said(counts))


def stacked(period: Period, *, x: float, width: float, top: int) -> list[Bar]:
    bars, y = [], float(FLOOR)
    for kind in KINDS:
        height = period.counts.get(kind, 0) / top * (FLOOR - TOP)
        if height:
            y -= height
            bars.append(Bar(str(kind), f"{x:.1f}", f"{y:.1f}", f"{width:.1f}", f"{height:.1f}"))
    return bars


def grid(top: int) -> list[Line]:
    """At most four lines, each at a whole number."""
    parts = next(n for n in (3, 2, 1) if top % n == 0)
    heights = [(value, FLOOR - value / top * (FLOOR - TOP)) for value in range(0, top + 1, top // parts)]
    return [Line(f"{y:.1f}", f"{y + 4:.1f}", value) for value, y in heights]


def nice(most: int) -> int:
    """The next number that reads well at the top of a scale."""
    if most <= 3:
        return max(1, most)
    size = 10 ** (len(str(most)) - 1)
    tenths = (int(size * step) for step in (1, 1.5, 2, 3, 4, 6, 9, 10) if size * step % 1 == 0)
    return next(number for number in tenths if number >= most)


def day_text(period: Period, unit: str) -> str:
    if unit == "month":
        return date_format(period.start, _("M Y"))
    return date_format(period.start, _("j M"))


def said(counts: Counts) -> str:
    most, least = max(counts.periods, key=lambda p: p.total), min(counts.periods, key=lambda p: p.total)
    told = {
        "total": counts.total, "first": day_text(counts.periods[0], counts.unit),
        "last": day_text(counts.periods[-1], counts.unit), "most": most.total,
        "most_day": day_text(most, counts.unit), "least": least.total, "least_day": day_text(least, counts.unit),
    }  # fmt: skip
    return (
        _(
            "%(total)d decisions from %(first)s to %(last)s. Most: %(most)d, %(most_day)s. "
            "Fewest: %(least)d, %(least_day)s."
        )
        % told
    )

"""How many open tasks each saved view finds. From the glance where it knows enough, else all the rest in one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from django.db import connection

from approvals.models import User
from approvals.models.cases import State
from approvals.waiting import selecting
from approvals.waiting.counting import SOON_MINUTES, Facet, Glance
from approvals.waiting.filters import Filters


def of(user: User, views: Mapping[int, Filters], glance: Glance, *, now: datetime) -> dict[int, int]:
    """By the view's key. Nothing where not all is counted, and nothing for views of what is not open."""
    if not glance.all_counted:
        return {}
    numbers, asked = {}, {}
    for key, filters in views.items():
        if filters.state != State.OPEN:
            continue
        if _in_facets(filters):
            numbers[key] = glance.count(partial(_fits, filters), aside=filters.aside) or 0
        else:
            asked[key] = filters
    return {**numbers, **_counted(user, asked, now=now)}


def _in_facets(filters: Filters) -> bool:
    """Whether nothing is filtered by that a facet does not know."""
    plain = replace(filters, queues=(), agents=(), tools=(), reasons=(), claimed="", risk="", asks=False, aside=False)
    known = plain.due in (None, SOON_MINUTES) and filters.claimed != "nobody"
    return known and replace(plain, due=None, group="", after="") == Filters()


def _fits(filters: Filters, facet: Facet) -> bool:
    return all(
        (
            not filters.queues or facet.queue in filters.queues,
            not filters.agents or facet.agent in filters.agents,
            not filters.tools or facet.tool in filters.tools,
            not filters.reasons or facet.reason in filters.reasons,
            not filters.risk or facet.risk == filters.risk,
            not filters.asks or not facet.tool,
            filters.due is None or facet.soon,
            not filters.claimed or (facet.mine if filters.claimed == "me" else facet.claimed == filters.claimed),
        )
    )


def _counted(user: User, asked: Mapping[int, Filters], *, now: datetime) -> dict[int, int]:
    """One statement for all of them."""
    if not asked:
        return {}
    parts: list[str] = []
    params: list[Any] = []
    for key, filters in asked.items():
        tasks = selecting.open_tasks(selecting.matching(user, filters, now=now), now=now)
        aside = selecting.aside(user, until__gt=now)
        tasks = tasks.filter(aside) if filters.aside else tasks.exclude(aside)
        sql, values = tasks.order_by().values("pk").query.sql_with_params()
        parts.append(f"SELECT {int(key)}, COUNT(*) FROM ({sql}) AS view{int(key)}")  # noqa: S608 - values are bound
        params += values
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), params)
        return dict(cursor.fetchall())

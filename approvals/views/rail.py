"""What stands beside the list of the queue: views with their numbers, and values to filter by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals import waiting
from approvals.models import Queue, SavedView, User
from approvals.models.cases import EXPIRED, State
from approvals.models.people import Role
from approvals.waiting import Facet, Filters, Glance, tallies

OFFERED = 12  # values of one filter
LONGEST = 80  # characters of a value that is offered


@dataclass(frozen=True, slots=True)
class Choice:
    """A line of the rail: a view or a value, with its number (None where it is not counted)."""

    name: str
    value: str
    number: int | None
    chosen: bool
    view: SavedView | None = None


def context(
    user: User,
    filters: Filters,
    glance: Glance,
    *,
    queues: Sequence[Queue],
    views: Sequence[SavedView],
    here: str,
    now: datetime,
) -> dict[str, Any]:
    return {
        "views": ours(filters, glance, here=here),
        "saved_views": _saved(user, views, glance, here=filters.query(), now=now),
        "queues": _queues(queues, filters, glance),
        "agents": _agents(filters, glance),
        "tools": _values(filters.tools, glance, lambda facet: facet.tool),
        "reasons": _values(filters.reasons, glance, lambda facet: facet.reason),
        "holders": _holders(filters, glance),
        "states": waiting.STATES,
        "verdicts": waiting.VERDICTS,
        "groupings": _groupings(filters),
        "this_view": filters.query(),
        "roles": Role.choices,
    }


def ours(filters: Filters, glance: Glance, *, here: str) -> list[Choice]:
    """The views everybody has: each is only an address."""

    def view(name: str, query: str, wanted: Callable[[Facet], bool]) -> Choice:
        return Choice(name, query, glance.count(wanted), filters.query() == query if query else not filters.query())

    soon = waiting.SOON_MINUTES
    not_now = glance.count(lambda facet: True, aside=True)
    return [
        view(_("All open"), "", lambda facet: True),
        view(_("Due in %(m)d min") % {"m": soon}, f"due={soon}", lambda facet: facet.soon),
        view(_("I am on"), "claimed=me", lambda facet: facet.mine),
        view(_("High risk"), "risk=high", lambda facet: facet.risk == Queue.Risk.HIGH),
        view(_("Asks for input"), "asks=1", lambda facet: not facet.tool),
        Choice(_("Not now"), "aside=1", not_now, filters.aside),
        Choice(_("Expired"), f"state={EXPIRED}", None, filters.state == EXPIRED),
        Choice(_("Decided"), f"state={State.SETTLED}", None, filters.state == State.SETTLED),
    ]


def _saved(user: User, views: Sequence[SavedView], glance: Glance, *, here: str, now: datetime) -> list[Choice]:
    asked = {view.pk: Filters.of(QueryDict(view.query)) for view in views}
    numbers = tallies.of(user, asked, glance, now=now)
    return [
        Choice(view.name, view.query or "state=open", numbers.get(view.pk), view.query == here, view) for view in views
    ]


def _groupings(filters: Filters) -> list[Choice]:
    names = {"": _("none"), "tool": _("tool"), "agent": _("agent"), "thread": _("thread")}
    return [Choice(name, filters.query(group=kind), None, filters.group == kind) for kind, name in names.items()]


def _queues(queues: Sequence[Queue], filters: Filters, glance: Glance) -> list[Choice]:
    numbers = _numbers(glance, lambda facet: facet.queue)
    return [Choice(queue.name, queue.name, numbers.get(queue.name), queue.name in filters.queues) for queue in queues]


def _agents(filters: Filters, glance: Glance) -> list[Choice]:
    """The agents that ask now, by name, and those chosen although they do not."""
    names: dict[str, str] = dict.fromkeys(filters.agents, "")
    names |= {facet.agent: facet.agent_name for facet in glance.facets}
    numbers = _numbers(glance, lambda facet: facet.agent)
    found = sorted((name or slug, slug) for slug, name in names.items())
    return [Choice(name, slug, numbers.get(slug), slug in filters.agents) for name, slug in found]


def _values(chosen: Sequence[str], glance: Glance, trait: Callable[[Facet], str]) -> list[Choice]:
    """The most frequent values that are short enough to be read, and the chosen ones."""
    known, numbers = glance.by(trait), _numbers(glance, trait)
    short = [value for value in known if value and len(value) <= LONGEST]
    frequent = sorted(short, key=lambda value: (-known[value], value))[:OFFERED]
    values = [*frequent, *(value for value in chosen if value not in frequent)]
    return [Choice(value, value, numbers.get(value), value in chosen) for value in values]


def _holders(filters: Filters, glance: Glance) -> list[str]:
    """Who is on something now."""
    names = {facet.claimed for facet in glance.facets if facet.claimed and not facet.mine}
    return sorted(names | ({filters.claimed} - {"", "me", "nobody"}))


def _numbers(glance: Glance, trait: Callable[[Facet], str]) -> dict[str, int]:
    return glance.by(trait) if glance.all_counted else {}

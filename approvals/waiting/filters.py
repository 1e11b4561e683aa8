"""The filters of the queue as they stand in its address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from django.http import QueryDict
from django.utils.dateparse import parse_date

from approvals.models.cases import EXPIRED, State, Verdict

STATES = [State.OPEN, State.SETTLED, EXPIRED, State.WITHDRAWN, State.QUARANTINED]
GROUPS = ["tool", "agent", "thread"]
VERDICTS: list[str] = [Verdict.APPROVED, "edited", Verdict.REJECTED, Verdict.ANSWERED, Verdict.CANCELLED]
RISKS = ("high", "medium", "low")
LISTS = {"queue": "queues", "agent": "agents", "tool": "tools", "reason": "reasons"}  # in the address → here
LONGEST_LIST = 50


@dataclass(frozen=True, kw_only=True)
class Filters:
    """As in the URL. What is not known there filters nothing away silently: it is just no filter."""

    queues: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    state: str = State.OPEN
    q: str = ""
    claimed: str = ""  # "me", "nobody" or a user name
    verdict: str = ""  # one of VERDICTS
    by: str = ""  # who decided: "me" or a user name
    risk: str = ""
    asks: bool = False  # questions without a tool call
    due: int | None = None  # minutes from now
    since: date | None = None  # first day on which it was asked
    until: date | None = None  # last day
    thread: str = ""  # key
    aside: bool = False  # what this person set aside
    group: str = ""  # one of GROUPS
    after: str = ""  # place of the last row of the page before

    @classmethod
    def of(cls, query: QueryDict) -> Filters:
        due, state, risk, group = (query.get(name, "") for name in ("due", "state", "risk", "group"))
        verdict, by = query.get("verdict", ""), query.get("by", "").strip()
        verdict = verdict if verdict in VERDICTS else ""
        state = state if state in STATES else State.OPEN
        return cls(
            **{here: tuple(filter(None, query.getlist(name)[:LONGEST_LIST])) for name, here in LISTS.items()},
            # Nothing open has been decided: who asks for a verdict means what is not open any more.
            state=State.SETTLED if state == State.OPEN and (verdict or by) else state,
            q=query.get("q", "").strip(),
            claimed=query.get("claimed", "").strip(),
            verdict=verdict,
            by=by,
            risk=risk if risk in RISKS else "",
            asks=query.get("asks") == "1",
            due=int(due) if due.isascii() and due.isdigit() and len(due) < 7 else None,
            since=_day(query.get("since", "")),
            until=_day(query.get("until", "")),
            thread=query.get("thread", ""),
            aside=query.get("aside") == "1",
            group=group if group in GROUPS else "",
            after=query.get("after", ""),
        )

    @property
    def narrow(self) -> bool:
        """Whether this is less than all that is open."""
        return self != Filters(after=self.after, group=self.group)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Name and value of all that is said, in a fixed order and without the place: how a view is stored."""
        for name, here in LISTS.items():
            yield from ((name, value) for value in getattr(self, here))
        if self.state != State.OPEN:
            yield "state", self.state
        for name in ("q", "claimed", "verdict", "by", "risk", "due", "since", "until", "thread", "group"):
            if (value := getattr(self, name)) not in ("", None):
                yield name, str(value)
        for name in ("asks", "aside"):
            if getattr(self, name):
                yield name, "1"

    def query(self, **changes: str) -> str:
        """The address's query that says this, with some names said otherwise ("" leaves one out)."""
        query = QueryDict(mutable=True)
        for name, value in self.pairs():
            query.appendlist(name, value)
        for name, value in changes.items():
            query.pop(name, None)
            if value:
                query[name] = value
        return query.urlencode()


def _day(text: str) -> date | None:
    """A day of the calendar, or None for anything else."""
    try:
        return parse_date(text)
    except ValueError:
        return None

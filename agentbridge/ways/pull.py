"""Resumes that an agent's own host fetches: its pauses came by push, so nobody here can call it.

Handing out is the first byte: it arms. Nothing is handed out twice by itself, and an answer of which no run was pushed
within a minute is in doubt, whatever the agent's replay class.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from time import monotonic

from django.conf import settings
from django.db import transaction

from agentbridge.delivery import resuming
from agentbridge.delivery.moves import Lost
from agentbridge.delivery.tickets import Ticket
from agentbridge.models import Agent, Resume, Run
from agentbridge.ways import tokens
from agentbridge.work.delivering import Database
from approvals import clock
from approvals.refusals import Refused

ANSWER_SECONDS = 60  # from handing out to the pushed run
POLL_SECONDS = 0.3
LONGEST_WAIT = 60.0
AT_ONCE = 8  # their minute begins together


class TokenGone(Exception):
    """The host waited with a token that was replaced meanwhile: it is handed nothing."""


class Crowded(Exception):
    """As many requests wait for answers as may."""


class Waits:
    """Who waits at this moment: each holds a connection and asks the database three times a second."""

    def __init__(self) -> None:
        self._of: Counter[int] = Counter()

    @contextmanager
    def another(self, agent: Agent) -> Iterator[None]:
        """Raises Crowded, before anything is handed out."""
        if self._of[agent.pk] >= settings.HOST_WAITS or self._of.total() >= settings.HOST_WAITS_IN_ALL:
            raise Crowded
        self._of[agent.pk] += 1
        try:
            yield
        finally:
            self._of[agent.pk] -= 1


async def owed(agent: Agent, *, wait: float, db: Database) -> list[bytes]:
    """The inputs that this agent is owed now, or within `wait` seconds. Raises TokenGone."""
    end = monotonic() + min(wait, LONGEST_WAIT)
    while not (found := await db(hand_out, agent)):
        if monotonic() >= end:
            break
        await asyncio.sleep(POLL_SECONDS)
    return found


def hand_out(agent: Agent) -> list[bytes]:
    now = clock.now()
    ready = resuming.ready(now).filter(agent=agent, interrupted_run__way=Run.Way.PUSH).order_by("pk")
    due = list(ready.values_list("pk", flat=True)[:AT_ONCE])
    if due and not tokens.holds_still(agent, "host"):
        raise TokenGone
    tickets = [_taken(pk, now) for pk in due]
    return [ticket.body for ticket in tickets if ticket is not None]


def _taken(pk: int, now: datetime) -> Ticket | None:
    ticket = resuming.claim(pk, owner=f"pull-{secrets.token_hex(8)}", now=now)
    try:
        return ticket if ticket is not None and _armed(ticket) else None
    except Lost:
        return None


def _armed(ticket: Ticket) -> bool:
    now = clock.now()
    Run.objects.filter(pk=ticket.run_pk).update(way=Run.Way.PUSH)
    until = now + timedelta(seconds=ANSWER_SECONDS)
    try:
        with transaction.atomic():
            resuming.arm(ticket, now=now)
            Resume.objects.filter(pk=ticket.resume_pk or 0).update(lease_until=until)
            Run.objects.filter(pk=ticket.run_pk).update(lease_until=until, bytes_sent=len(ticket.body))
    except (resuming.NotArmed, Refused) as reason:
        resuming.put_back(ticket, sentence=str(reason), now=now)
        return False
    return True

"""What a reader of a case should know beside the state of its delivery, each in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agentbridge import wording
from agentbridge.delivery import ledger, standing
from agentbridge.models import Agent, Interrupt
from agentbridge.runs import opening
from agentbridge.wording import Words
from approvals.models import Case, State
from approvals.models.cases import last_moment


def lines(case: Case, *, now: datetime) -> Iterator[Words]:
    """For whoever decides or settles: how often the thread asked, what a deadline means, how the agent is sent to."""
    asked = Interrupt.objects.filter(task__case=case).select_related("run__thread__agent").first()
    if asked is None:
        return
    yield from _round(opening.rounds(asked.run.thread))
    if case.is_expired(now):
        yield from _siblings(case, now)
    if case.state in (State.OPEN, State.SETTLED):
        yield from _replay(asked.run.thread.agent, now)


def _round(number: int) -> Iterator[str]:
    if number > 1:
        told = {"number": number, "limit": settings.THREAD_ROUNDS}
        yield _("This thread has paused %(number)d times; after %(limit)d nothing more is answered.") % told


def _siblings(case: Case, now: datetime) -> Iterator[str]:
    """R-27, R-29: answers travel together, so one deadline that passed stops them all until an operator acts."""
    deadlines = list(case.tasks.values_list("deadline", flat=True))
    late = sum(deadline is not None and now >= last_moment(deadline) for deadline in deadlines)
    others = len(deadlines) - late
    if not others:
        return
    said = ngettext(
        "%(late)d question here ran out of time, and with it the others: all answers of a pause leave together.",
        "%(late)d questions here ran out of time, and with them the others: all answers of a pause leave together.",
        late,
    )
    yield said % {"late": late}
    if ledger.cancel_is_safe(case):
        yield _("An operator can still send the answers that are in time; every other question is then cancelled.")


def _replay(agent: Agent, now: datetime) -> Iterator[Words]:
    lapsed = wording.LAPSED.get(standing.lapsed(agent, now=now))
    yield wording.REPLAY[standing.replay_class(agent, now=now)]
    if lapsed:
        yield lapsed

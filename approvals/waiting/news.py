"""What changed on an open page since it was drawn, so that nothing vanishes under a cursor and it can be said aloud.

The page tells which lines it shows (`shown`), which of them it knows to be over (`gone`), and its newest task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.models import Task, User
from approvals.models.cases import State
from approvals.waiting import pages, selecting
from approvals.waiting.counting import COUNTED, Counted
from approvals.waiting.filters import Filters
from approvals.waiting.places import RANKS

NAMED = 3  # lines that are named one by one when they end


@dataclass(frozen=True, slots=True)
class News:
    """`kept`: tasks that stay on the page although they left it. `arrived`: how many are new, in all pages."""

    kept: list[Task] = field(default_factory=list)
    arrived: Counted = field(default_factory=lambda: Counted(0))
    ended: list[Task] = field(default_factory=list)

    @property
    def sentences(self) -> list[str]:
        """One for what came and one for what ended: a flood is one sentence too."""
        said = []
        if self.arrived.number:
            text = ngettext("%(number)s new task.", "%(number)s new tasks.", self.arrived.number)
            said.append(text % {"number": self.arrived})
        if len(self.ended) > NAMED:
            said.append(_("%(number)d tasks are not open any more.") % {"number": len(self.ended)})
        else:
            said += [_("%(code)s is not open any more.") % {"code": task.code} for task in self.ended]
        return said


NOTHING = News()


def since(user: User, filters: Filters, told: QueryDict, tasks: Sequence[Task], *, now: datetime) -> News:
    """What to keep and what to say. In one query for each, and none for a page that tells nothing."""
    shown, gone = told.getlist("shown"), set(told.getlist("gone"))
    newest = told.get("newest", "")
    here = {task.code for task in tasks}
    missing = [code for code in (*shown, *gone) if code not in here]
    kept = pages.still_shown(user, missing, now=now) if missing else []
    ended = [task for task in kept if task.code not in gone and task.state_at(now) != State.OPEN]
    arrived = 0
    if newest.isascii() and newest.isdigit() and filters.state == State.OPEN:
        waiting = selecting.open_tasks(selecting.matching(user, filters, now=now), now=now)
        arrived = waiting.filter(pk__gt=int(newest[:18])).order_by()[: COUNTED + 1].count()
    return News(kept, Counted(arrived), ended)


def order(task: Task) -> tuple[Any, ...]:
    """The order of the queue, for lines from several reads; see `pages.in_order`."""
    until = getattr(task, "aside_until", None)
    return (until is None, until or 0, task.due_at is None, task.due_at or 0, -RANKS[task.queue.risk], task.pk)

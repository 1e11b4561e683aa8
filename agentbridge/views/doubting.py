"""What helps to settle a doubt: whom to ask of which run, and whether the agent has done anything since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import OuterRef, Subquery

from agentbridge import links, visibility, wording
from agentbridge.delivery import ledger
from agentbridge.models import Agent, Resume, Run
from agentbridge.wording import Sign
from approvals.models import User


@dataclass(frozen=True)
class Doubt:
    """The last attempt that may have run, and the newest run of its agent since then."""

    agent: Agent
    run: Run
    newer: Run | None

    @property
    def sign(self) -> Sign | None:
        """How that newer run stands."""
        return wording.RUN[self.newer.status] if self.newer else None

    @property
    def page(self) -> str:
        return links.run_page(self.newer) if self.newer else ""


def of(resume: Resume | None, newest: Mapping[int, Run]) -> Doubt | None:
    """None where nothing may have run, or nobody is waited for. `newest` is `newest_runs` of its agent at least."""
    if resume is None or resume.state not in ledger.WAITING:
        return None
    left = [run for run in resume.attempts.all() if run.armed_at and run.answer_class not in ledger.NOT_RUN]
    if not left:
        return None
    last, found = max(left, key=lambda run: run.pk), newest.get(resume.agent_id)
    return Doubt(resume.agent, last, found if found is not None and found.pk > last.pk else None)


def newest_runs(user: User, resumes: Iterable[Resume | None]) -> dict[int, Run]:
    """By agent, the newest run of which bytes have left, as far as this person may see it. Two queries at most."""
    agents = {resume.agent_id for resume in resumes if resume is not None and resume.state in ledger.WAITING}
    if not agents:
        return {}
    sent = visibility.runs(user).filter(thread__agent=OuterRef("pk"), armed_at__isnull=False).order_by("-pk")
    last = Agent.objects.filter(pk__in=agents).values_list(Subquery(sent.values("pk")[:1]), flat=True)
    found = Run.objects.filter(pk__in=[pk for pk in last if pk]).select_related("thread__agent")
    return {run.thread.agent_id: run for run in found.defer("input", "snapshot")}

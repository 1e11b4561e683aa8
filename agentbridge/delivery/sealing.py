"""From a settled case to bytes that never change again: one transaction, after which nothing can be recalled.

The settled case is the outbox row; nobody calls this but the worker and `settling.close_expired`.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F

from agentbridge import trail, translation
from agentbridge.delivery import crash, receipts, turns
from agentbridge.dialects.sending import Unsendable
from agentbridge.models import Interrupt, Resume, Run
from approvals import reviewing
from approvals.models import Case, User
from approvals.trail import anchors


def due(now: datetime, *, limit: int = 10, memory: turns.Memory | None = None) -> list[Case]:
    """Settled cases whose undo window is over, as their turns come; a few, so that none waits for many."""
    if anchors.refusal():  # a part of the trail is missing
        return []
    oldest = [F("deliver_after").asc(), F("pk").asc()]
    found = turns.in_turn(
        Case.objects.due(now), agent="agent", asked_at="settled_at", oldest=oldest, most=limit, busy={}, memory=memory
    )[:limit]
    cases = Case.objects.in_bulk([pk for pk, _agent in found])
    return [cases[pk] for pk, _agent in found if pk in cases]


def seal(case: Case, *, now: datetime) -> Resume | None:
    """Take the case and write its `resume[]`. None when another worker was first or the author recalled in time."""
    run = interrupted_run(case)
    try:
        with transaction.atomic():
            if run is None:
                reviewing.block(case, sentence="The run that asked is not on record.", now=now)
                return None
            reviewing.take(case, now=now)
            resume = write(case, run, n=1, now=now)
    except reviewing.NotDue:
        return None
    except Unsendable as reason:
        reviewing.block(case, sentence=f"They cannot be sealed: {reason}", now=now)
        return None
    crash.point("sealed")
    return resume


def set_aside(case: Case, *, now: datetime) -> None:
    """A fault of ours keeps these answers from being sealed. Raises WrongState for a case that ended meanwhile."""
    reviewing.block(case, sentence="They cannot be sealed: a fault of this desk, told in its log.", now=now)


def interrupted_run(case: Case) -> Run | None:
    """The run whose questions these are."""
    asked = Interrupt.objects.filter(task__case=case).select_related("run__thread__agent").order_by("pk").first()
    return asked.run if asked else None


def write(case: Case, run: Run, *, n: int, now: datetime, by: User | None = None) -> Resume:
    """Seal the answers as their bytes; the caller's transaction has taken the case. Never called twice for one n."""
    decided = translation.Decided.on(case)
    answers = decided.answers(closing_at=now if n > 1 else None)
    sending = translation.sending_of(run, answers)
    signed = receipts.sign(case, run, answers, sending, n=n, now=now, by=by)
    entries, props, messages = receipts.along(sending, signed)
    thread = run.thread
    resume = Resume.objects.create(
        case=case,
        n=n,
        interrupted_run=run,
        thread=thread,
        agent=thread.agent,
        url_version=thread.agent.url_version,
        entries=entries,
        forwarded_props=props,
        messages=messages,
        sha256=trail.sha256(entries + props + messages),
        signature=signed,
        sealed_at=now,
        changed_at=now,
    )
    trail.of_resume(
        "resume.sealed",
        f"The answers were sealed: {len(answers)} in one resume.",
        resume=resume,
        run=run,
        actor=by,
        data={
            "sha256": resume.sha256,
            "n": n,
            "signature": trail.sha256(signed.encode()),
            "entries": [{"interruptId": answer.interrupt_id, "verdict": answer.verdict} for answer in answers],
            "toolCallIds": sorted(decided.gated_calls()),
            "dialect": run.dialect,
        },
        now=now,
    )
    return resume

"""What the end of an attempt means for its delivery: class, state, next try, and the case behind it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from django.conf import settings

from agentbridge.delivery import backoff, ledger, resuming, standing, watch
from agentbridge.delivery.moves import following, move
from agentbridge.delivery.tickets import Head
from agentbridge.models import DeliveryState, Resume, Run
from agentbridge.models.agents import ReplayClass
from agentbridge.wire import classify
from agentbridge.wire.record import RunView
from approvals import reviewing
from approvals.models.cases import State

DELIVERED = (DeliveryState.FINISHED, DeliveryState.INTERRUPTED_AGAIN)


def end(resume: Resume, run: Run, view: RunView, *, paused: bool, head: Head, now: datetime) -> None:
    """Move the delivery to where this answer leads, inside the transaction that ends the run.

    Late evidence that the table has no move for stays on the run and in its entry.
    """  # fmt: skip
    # What a host has fetched is not handed out again, whatever its agent could stand.
    replay = ReplayClass.UNKNOWN if run.way == Run.Way.PUSH else standing.replay_class(resume.agent, now=now)
    verdict = judged(resume, view, paused=paused, head=head, replay=replay)
    run.answer_class = verdict.letter
    run.save(update_fields=["answer_class"])
    if verdict.state not in following(resume) or not is_newest(resume, run):
        return
    if verdict.letter in ledger.NOT_RUN and ledger.may_have_run(resume):
        verdict = verdict._replace(sentence=f"An earlier attempt may have run. {verdict.sentence}")
    again = verdict.state == DeliveryState.READY
    move(
        resume, verdict.state, sentence=verdict.sentence, run=run, now=now, fenced=False, answer_class=verdict.letter,
        next_try_at=next_try(resume, verdict, head.retry_after, now) if again else None,
        data={"class": verdict.letter, "httpStatus": head.status, "attempt": run.attempt},
    )  # fmt: skip
    if verdict.state in DELIVERED and resume.case.state == State.SETTLED:
        reviewing.mark_delivered(resume.case, now=now)
    if again:
        resuming.ended_early(resume, now=now)
    else:
        watch.compare(resume, run, view, letter=verdict.letter, now=now)


def is_newest(resume: Resume, run: Run) -> bool:
    """News of an attempt that a later one has replaced change nothing in the delivery."""
    return not resume.attempts.filter(attempt__gt=run.attempt).exists()


def judged(resume: Resume, view: RunView, *, paused: bool, head: Head, replay: str) -> classify.Verdict:
    """The class, with what only we know: pauses announced otherwise, and agents that may be asked again."""
    # The end comes first; an error after it is told by `noticing.late_error`, also when both were read at once.
    view = replace(view, late_error=None)
    verdict = classify.verdict(
        http_status=head.status, run=view, error=view.cut or head.trouble or None, replay=replay,
        retry_after=head.retry_after is not None, busy_is_not_taken=resume.agent.busy_is_not_taken,
    )  # fmt: skip
    if paused and verdict.letter == "E":
        return classify.Verdict(DeliveryState.INTERRUPTED_AGAIN, "F", classify.SENTENCES["F"])
    says_so = view.status == "failed"  # the agent, or its guard, said itself that nobody knows: it will say so again
    if verdict.state == DeliveryState.OUTCOME_UNKNOWN and replay in classify.REPLAYABLE and not says_so:
        return verdict._replace(state=DeliveryState.READY)
    return verdict


def next_try(resume: Resume, verdict: classify.Verdict, retry_after: float | None, now: datetime) -> datetime:
    """A run that began may still be at work: its agent is asked again only when the longest run is over."""
    if verdict.letter in "HI" and resume.state == DeliveryState.ACCEPTED:
        return now + timedelta(seconds=settings.RUN_SECONDS)
    return now + backoff.delay(resume.attempts_made, retry_after=retry_after)

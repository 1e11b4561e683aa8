"""Whether a pushed run carries the answers that were handed out for it. One that carries others delivered nothing."""

from __future__ import annotations

from datetime import datetime

from agentbridge import trail
from agentbridge.delivery import resuming
from agentbridge.delivery.moves import MOVES, move
from agentbridge.models import DeliveryState, Resume, Run
from agentbridge.wire import protocol
from approvals import jsontext
from approvals.fields import text_of

OTHERS = "The run that was pushed carries other answers than those that were handed out for it."


def carries_others(run: Run, said: bytes | None, *, whole: bool) -> bool:
    """By value, in each place where this dialect answers. `whole` False: an echo may leave the answers out."""
    resume = run.resume
    if resume is None or said is None:
        return False
    asked = protocol.read_input(text_of(said), partial=True)
    if asked.resume is None and not whole:
        return False
    sealed = text_of(resume.entries)
    if sealed not in ("", "[]") and not jsontext.same(sealed, asked.resume or "[]"):
        return True
    props = text_of(resume.forwarded_props)
    if props and not jsontext.same(props, asked.forwarded_props):
        return True
    spoken = jsontext.items(text_of(resume.messages)) if resume.messages else []
    return any(not any(jsontext.same(text, other) for other in asked.messages) for text in spoken)


def refuse(run: Run, resume: Resume, *, now: datetime) -> None:
    """In the transaction that stores the run: it is kept and never read, and whether the agent acted is a doubt."""
    ended = {"status": Run.Status.REJECTED, "ended_at": now, "error": OTHERS, "lease_owner": "", "lease_until": None}
    Run.objects.filter(pk=run.pk).update(**ended)
    trail.of_run("run.rejected", f"We refused the stream: {OTHERS}", run=run, case=resume.case, now=now)
    if DeliveryState.IN_DOUBT in MOVES[resume.state]:
        move(resume, DeliveryState.IN_DOUBT, sentence=OTHERS, run=run, now=now, fenced=False, answer_class="H")


def locked_delivery(run: Run | None) -> Resume | None:
    """What this run delivers, locked before the run is: in the order of all deeds."""
    return resuming.locked(run.resume_id) if run is not None and run.resume_id else None

"""May this input reach the agent? The whole judgement, on what the journal knows of the thread. Pure but for schemas.

The rules are those of the Interrupts page (numbered there) as AG-UI 1.0 reads them: an expired interrupt cannot be
answered but must be cancelled (R-27), an answer is the same by id, status and payload (rule 5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from agentbridge.guard import refusals
from agentbridge.guard.asking import Ask
from agentbridge.guard.entries import Entries, Entry, same, spread
from agentbridge.guard.payloads import problem
from agentbridge.guard.refusals import Refusal
from agentbridge.wire.expiry import read_deadline

TAKEN, FAILED, REFUSED, DOUBT = "taken", "failed", "refused", "doubt"  # what became of answers that were sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One open interrupt, as it stood in RUN_FINISHED."""

    id: str
    raw: str
    schema: str | None = None
    expires_at: str | None = None
    proposal: str | None = None  # the arguments of the call it is about, as streamed


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """Answers that were sent before; the recorded run is `pk` of the journal."""

    pk: int
    run_id: str
    entries: Entries
    rest: str
    state: str
    heard: bool  # somebody has received all that the agent said to them


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """What is known of one thread: `asking` is the run (as it was requested) whose questions are open."""

    thread_id: str = ""
    asking: str = ""
    questions: Sequence[Question] = ()
    past: Sequence[Past] = ()  # newest first

    @property
    def ids(self) -> list[str]:
        return list(dict.fromkeys(question.id for question in self.questions))


Proof = Callable[[Book, Entries], bool]  # is it signed for these questions? Raises Refusal for a wrong signature


def judge(book: Book, ask: Ask, *, now: datetime, proof: Proof) -> Past | None:
    """None: let it through. A `Past`: repeat what was said to these answers then. Raises Refusal."""
    doubt = any(past.state == DOUBT for past in book.past)
    if ask.resume is None:
        if doubt:
            raise Refusal(refusals.IN_DOUBT, refusals.DOUBT)
        if book.questions:
            raise Refusal(refusals.REQUIRED, "This thread waits for answers: resume[] is missing.", book.ids)
        return None
    entries = ask.entries
    if book.questions and ask.hidden:
        raise Refusal(refusals.HIDDEN, "forwardedProps holds a second answer, beside resume[].")
    before = next((past for past in book.past if same(past.entries, entries)), None)
    if before is not None and _is_a_repeat(before, book, ask, entries, proof):
        return before
    if doubt:
        raise Refusal(refusals.IN_DOUBT, refusals.DOUBT)
    _check(book, entries, now=now)
    proof(book, entries)
    return None


def _is_a_repeat(before: Past, book: Book, ask: Ask, entries: Entries, proof: Proof) -> bool:
    """Answers that were refused were not taken: whoever has heard so may try again. The rest is never sent twice.

    Where the agent asks again under an id that was answered before, equal answers may be old or new (K-3): the same
    sender's retry is the same input but for its run id, a signed answer names the run that it answers, and between
    the rest nobody can tell.
    """
    if before.state == REFUSED:
        return not before.heard
    if not {entry.id for entry in entries} <= set(book.ids) or ask.rest == before.rest:
        return True
    if not proof(book, entries):
        text = "These answers were given before, and the agent asks again under the same ids: old or new?"
        raise Refusal(refusals.AMBIGUOUS, text, book.ids)
    return False


def _check(book: Book, entries: Entries, *, now: datetime) -> None:
    open_ids = dict.fromkeys(book.ids)
    entries = spread(entries, book.ids)
    given = Counter(entry.id for entry in entries)
    unknown = [id_ for id_ in given if id_ not in open_ids]
    if unknown:
        raise _not_open(book, unknown)
    if max(given.values()) > 1:
        raise Refusal(refusals.MALFORMED, "An interrupt is answered twice.", [i for i, n in given.items() if n > 1])
    missing = [id_ for id_ in open_ids if id_ not in given]
    if missing:
        raise Refusal(refusals.PARTIAL, "Not every open interrupt is answered.", missing)
    answers = {entry.id: entry for entry in entries}
    late = [question.id for question in book.questions if _is_late(question, answers[question.id], now=now)]
    if late:
        raise Refusal(refusals.EXPIRED, "The time for this answer is over; it can only be cancelled.", late)
    for question in book.questions:
        _check_payload(question, answers[question.id])


def _not_open(book: Book, ids: list[str]) -> Refusal:
    answered = {entry.id for past in book.past if past.state != REFUSED for entry in past.entries}
    if set(ids) <= answered:
        return Refusal(refusals.ANSWERED, "This was answered before, in other words; that answer stands.", ids)
    return Refusal(refusals.UNKNOWN, "No such interrupt is open on this thread.", ids)


def _is_late(question: Question, answer: Entry, *, now: datetime) -> bool:
    at = read_deadline(question.expires_at).at if question.expires_at is not None else None
    return answer.status == "resolved" and at is not None and at <= now


def _check_payload(question: Question, answer: Entry) -> None:
    if answer.status == "cancelled":
        if answer.payload not in (None, "null"):  # an agent that reads it and not the status would act on it
            raise Refusal(refusals.PAYLOAD, "The answer is cancelled, and has a payload.", [question.id])
        return
    if answer.payload is None:  # some agents read this as a yes
        raise Refusal(refusals.PAYLOAD, "The answer is resolved and has no payload.", [question.id])
    wrong = problem(question.schema, answer.payload) if question.schema is not None else None
    if wrong is not None:
        raise Refusal(refusals.PAYLOAD, f"The answer does not fit the responseSchema: {wrong}.", [question.id])

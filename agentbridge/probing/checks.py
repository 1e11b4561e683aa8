"""The eight checks (`delivery.md` C.3). A check that could not be made is not passed, and nothing is guessed.

An agent is safe when nothing that arrives a second time, late, in part, or for another question makes its tool run.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agentbridge.dialects import Pause
from agentbridge.models import Agent
from agentbridge.probing.talking import CannotTell, Heard, Ledger, Talk
from agentbridge.wire.expiry import read_deadline
from agentbridge.wire.record import RunInput
from approvals import jsontext, schemas

PASSED, FAILED, NOT_MADE = "passed", "failed", "not made"
ODD = ('"?"', "0", "[]", "{}", "true", "null", '{"approved":"?"}')  # one of them fits no schema worth its name
ROUNDS = 10  # questions one after the other, before an end is given up
LONGEST_WAIT = timedelta(seconds=120)  # for a question to expire

Finding = tuple[bool, str]  # passed, and what was seen


@dataclass(frozen=True, kw_only=True)
class Check:
    """One of the eight, and how it came out."""

    name: str
    title: str
    result: str
    evidence: str


@dataclass
class Bench:
    """What the checks work with. `input` must pause for a yes; the others default to it."""

    agent: Agent
    ledger: Ledger
    input: RunInput
    chain: RunInput
    parallel: RunInput
    expiring: RunInput
    clock: Callable[[], datetime]
    heard: list[Heard] = field(default_factory=list)
    usual: int = 0  # executions that one yes to `input` makes

    def talk(self, asking: RunInput | None = None) -> Talk:
        return Talk(self.agent, asking or self.input, self.ledger, self.heard)


def runs(count: int) -> str:
    """How often the tool ran, for the evidence."""
    return {0: "it did not run", 1: "it ran once", 2: "it ran twice"}.get(count, f"it ran {count} times")


async def run_all(bench: Bench) -> list[Check]:
    """One after the other: what the ledger counts must be ours."""
    return [await _made(bench, name, title, check) for name, title, check in CHECKS]


async def _made(bench: Bench, name: str, title: str, check: Callable[[Bench], Awaitable[Finding]]) -> Check:
    try:
        passed, evidence = await check(bench)
    except CannotTell as reason:
        return Check(name=name, title=title, result=NOT_MADE, evidence=str(reason))
    return Check(name=name, title=title, result=PASSED if passed else FAILED, evidence=evidence)


async def _answered(talk: Talk, pauses: Sequence[Pause]) -> tuple[list[str], int]:
    """A yes that was taken and left its trace: without one, no later silence of the ledger means anything."""
    entries = talk.entries(pauses)
    heard, ran = await talk.answer(entries)
    if heard.letter not in ("E", "F", "G"):
        raise CannotTell(f"The first, proper answer was not taken: {heard.said}.")
    if not ran:
        raise CannotTell("The tool left no trace of its first execution in the ledger.")
    return entries, ran


async def _to_the_end(talk: Talk) -> tuple[list[Pause], list[str], int]:
    """Yes to every question until the run ends: the last questions, the last yes, and what the first one made run."""
    pauses = await talk.pauses()
    entries, first = await _answered(talk, pauses)
    for _round in range(ROUNDS):
        if talk.heard[-1].letter != "F":
            return pauses, entries, first
        pauses = talk.questions(talk.heard[-1])
        entries, _ran = await _answered(talk, pauses)
    raise CannotTell(f"It asks and asks: {ROUNDS} answers led to no end.")


async def same_again(bench: Bench) -> Finding:
    talk = bench.talk()
    _pauses, entries, bench.usual = await _to_the_end(talk)
    again, more = await talk.answer(entries)
    seen = f"Answered, {runs(bench.usual)}; sent again, {runs(more)}. Answer: {again.said}."
    return not more and not again.unclear, seen


async def same_again_in_a_chain(bench: Bench) -> Finding:
    """The trap: the old answer, when the agent waits for the answer to its next question."""
    talk = bench.talk(bench.chain)
    entries, _ran = await _answered(talk, await talk.pauses())
    second = talk.questions(talk.heard[-1])
    again, more = await talk.answer(entries)
    if more or again.unclear:
        return False, f"The old answers were sent again, and {runs(more)}. Answer: {again.said}."
    proper, ran = await talk.answer(talk.entries(second))
    seen = f"Sent again, {runs(more)}: {again.said}. The new question, answered after it: {proper.said}, {runs(ran)}."
    return bool(ran) and proper.letter in "EFG", seen


async def unknown_question(bench: Bench) -> Finding:
    talk = bench.talk()
    pauses = await talk.pauses()
    entries = talk.entries(pauses)
    strange = jsontext.replace(entries[0], {"/interruptId": jsontext.dumps(f"unknown-{uuid.uuid4().hex}")})
    return await _harmless(talk, [strange, *entries[1:]], entries)


async def late(bench: Bench) -> Finding:
    talk = bench.talk(bench.expiring)
    pauses = await talk.pauses()
    ends = [read_deadline(pause.interrupt.expires_at or "").at for pause in pauses]
    known = [end for end in ends if end is not None]
    now = bench.clock()
    if not known or min(known) - now > LONGEST_WAIT:
        raise CannotTell("No question expires soon enough to be waited for. Give one with --expiring-input.")
    await asyncio.sleep(max(0.0, (min(known) - now).total_seconds()) + 1)
    heard, ran = await talk.answer(talk.entries(pauses))
    return heard.refused and not ran, f"A second after its time: {heard.said}, {runs(ran)}."


async def wrong_form(bench: Bench) -> Finding:
    talk = bench.talk()
    pauses = await talk.pauses()
    entries = talk.entries(pauses)
    schema = pauses[0].interrupt.response_schema
    if schema is None or len(entries) != len(pauses):
        raise CannotTell("The question has no responseSchema.")
    try:
        wrong = next(text for text in ODD if schemas.problems(schema, text))
    except (StopIteration, schemas.UnusableSchema) as reason:
        raise CannotTell("The responseSchema lets everything through, or cannot be used.") from reason
    return await _harmless(talk, [jsontext.replace(entries[0], {"/payload": wrong}), *entries[1:]], entries)


async def _harmless(talk: Talk, wrong: Sequence[str], right: Sequence[str]) -> Finding:
    """What must not be taken is not, and the question stays open for the proper answer."""
    heard, ran = await talk.answer(wrong)
    seen = f"{heard.said}, {runs(ran)}"
    if ran or not (heard.refused or heard.letter == "F"):
        return False, f"It was not refused: {seen}."
    proper, ran = await talk.answer(right)
    fine = proper.letter in "EFG" and ran > 0
    return fine, f"Refused: {seen}. The proper answer after it: {proper.said}, {runs(ran)}."


async def partial(bench: Bench) -> Finding:
    talk = bench.talk(bench.parallel)
    pauses = await talk.pauses()
    if len(pauses) < 2:
        raise CannotTell("Only one question was asked at once. Give an input that asks several with --parallel-input.")
    heard, ran = await talk.answer(talk.entries(pauses[:1]))
    # AG-UI 1.0 lets an agent run what was answered, if it asks for the rest again.
    fine = (heard.refused and not ran) or (heard.letter == "F" and ran <= 1)
    return fine, f"One of {len(pauses)} answered: {heard.said}, {runs(ran)}."


async def twice_at_once(bench: Bench) -> Finding:
    if not bench.usual:
        raise CannotTell("How often one answer makes the tool run is not known: see P1.")
    talk = bench.talk()
    entries = talk.entries(await talk.pauses())
    before = await bench.ledger.count()
    heard = await asyncio.gather(talk.send(entries), talk.send(entries))
    ran = await bench.ledger.count() - before
    seen = f"Twice at once: {runs(ran)}. Alone: {runs(bench.usual)}. Answers: {heard[0].said}; {heard[1].said}."
    return ran == bench.usual and any(one.letter in "EFG" for one in heard), seen


async def another_answer(bench: Bench) -> Finding:
    """After the end a yes must not become a no, and nobody may be told that it did."""
    talk = bench.talk()
    pauses, _entries, _first = await _to_the_end(talk)
    heard, ran = await talk.answer(talk.entries(pauses, "rejected"))
    return heard.refused and not ran, f"The opposite answer after the end: {heard.said}, {runs(ran)}."


CHECKS: list[tuple[str, str, Callable[[Bench], Awaitable[Finding]]]] = [
    ("P1", "the same answers again, after the end", same_again),
    ("P2", "the same answers again, when there is a new question", same_again_in_a_chain),
    ("P3", "an answer to a question that nobody asked", unknown_question),
    ("P4", "an answer after its time", late),
    ("P5", "an answer against the schema", wrong_form),
    ("P6", "an answer to a part of the questions", partial),
    ("P7", "the same answers twice at once", twice_at_once),
    ("P8", "another answer, after the end", another_answer),
]

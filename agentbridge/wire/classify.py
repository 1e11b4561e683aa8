"""What an answer to a resume means: classes A to J of the protocol notes (C.5), and the delivery state they lead to.

Pure. Called when an attempt whose bytes may have left has ended; attempts that sent nothing never come here.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from agentbridge.wire.record import RunView

Letter = Literal["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"]
REPLAYABLE = ("verified", "guarded")
STATES: dict[Letter, str] = {
    "A": "rejected",
    "B": "agent_error",
    "C": "agent_error",
    "D": "agent_error",
    "E": "finished",
    "F": "interrupted_again",
    "G": "finished",
    "H": "outcome_unknown",
    "I": "outcome_unknown",
}
SENTENCES: dict[Letter, str] = {
    "A": "The agent refused the answers before anything ran (HTTP {status}).",
    "B": "The agent refused the answers: {error}",
    "C": "The run began and was refused at once: {error}",
    "D": "The run failed on its way; the answers may be used up and the tool may have run: {error}",
    "E": "The agent took the answers and finished.",
    "F": "The agent took the answers and asks again.",
    "G": "The agent took the answers and stopped its work.",
    "H": "The run has no ending that we know: what it did is unknown.",
    "I": "The agent's stream broke the protocol; what it did after that is unknown.",
    "J": "After the end of the run the agent reported an error: {error}",
}
# An agent's words come last, so that it cannot go on in ours.
SAYS_UNKNOWN = "Whether the agent took the answers is unknown. It says: {error}"
SCHEMA = "Wrong form: the answer is not what the agent's schema asks for."
UNKNOWN_ID = "Unknown question: it was probably answered before, or the agent has forgotten it."
PARTIAL = "Incomplete: the agent expects an answer to more questions."
MISSING = "No answers: the agent waits for a resume and found none in the input."
# The five conditions of the Interrupts page, by the codes that agents use for them. Codes are an open vocabulary (S-5):
# they help a person to read the error and decide nothing.
HINTS = {
    "EXPIRED": "Expired: the agent says that the time for this answer is over.",
    "INVALID_PAYLOAD": SCHEMA,
    "INVALID_RESPONSE": SCHEMA,
    "SCHEMA": SCHEMA,
    "ALREADY": UNKNOWN_ID,
    "UNKNOWN_INTERRUPT": UNKNOWN_ID,
    "NOT_FOUND": UNKNOWN_ID,
    "NO_PENDING": UNKNOWN_ID,
    "PARTIAL": PARTIAL,
    "INCOMPLETE": PARTIAL,
    "MISSING_INTERRUPT": PARTIAL,
    "PENDING_INTERRUPT": MISSING,
    "MISSING_RESUME": MISSING,
    "RESUME_REQUIRED": MISSING,
    "BUSY": "The agent is at work on this thread.",
    "RUNNING": "The agent is at work on this thread.",
}


class Verdict(NamedTuple):
    """`state` of the delivery (`ready`: provably not taken, send again later), the class, a sentence for people."""

    state: str
    letter: Letter
    sentence: str


def classify(*, http_status: int | None, run: RunView | None) -> Letter:
    """The class of an answer. `run` is ours as read from the body, None without one."""
    if http_status is not None and http_status >= 300:
        # A gateway's 5xx says nothing about the agent behind it; 503 is the agent's own word (C.5).
        return "H" if http_status >= 500 and http_status != 503 else "A"
    if run is None:
        return "H"
    if run.late_error is not None:
        return "J"
    if run.status == "failed":
        return _failed(run)
    return _BY_STATUS.get(run.status, "H")


_BY_STATUS: dict[str, Letter] = {"succeeded": "E", "interrupted": "F", "cancelled": "G", "rejected": "I"}


def _failed(run: RunView) -> Letter:
    if "indeterminate" in (run.error or "").lower():
        return "H"  # the agent itself does not know what ran (T-71b)
    if not run.started:
        return "B"
    return "D" if run.acted else "C"


def verdict(
    *,
    http_status: int | None,
    run: RunView | None,
    error: str | None = None,
    replay: str = "unknown",
    retry_after: bool = False,
    busy_is_not_taken: bool = False,
) -> Verdict:
    """The state a delivery goes to, for an agent of this replay class (`design.md` 4).

    `error`: what cut the way short; `retry_after`: the answer named a time; `busy_is_not_taken`: at this agent a 503
    that does so is a promise.
    """
    if http_status == 429 or (http_status == 503 and retry_after and busy_is_not_taken):
        return Verdict("ready", "A", f"The agent is busy (HTTP {http_status}); the answers were not taken.")
    letter = classify(http_status=http_status, run=run)
    if http_status == 503 and not retry_after:
        letter = "H"
    if letter in "HI" and not (run is not None and run.started and run.status != "running"):
        if run is not None and run.status == "failed":
            # An agent, or its guard, that says itself that nobody knows says the same the next time.
            return Verdict("in_doubt", letter, SAYS_UNKNOWN.format(error=run.error))
        return _doubt(letter, http_status, error, replay)
    state = STATES["A"] if letter == "A" else _state(letter, run)
    return Verdict(state, letter, _sentence(letter, http_status, run))


def _doubt(letter: Letter, http_status: int | None, error: str | None, replay: str) -> Verdict:
    """Bytes may have left and nothing came back that says what became of them."""
    by_status = http_status is not None and http_status >= 300
    why = f"HTTP {http_status}" if by_status else (error or "no run began").rstrip(".")
    if replay in REPLAYABLE:
        return Verdict(
            "ready", letter, f"Whether the agent took the answers is unknown ({why}); it is safe to ask again."
        )
    return Verdict("in_doubt", letter, f"Whether the agent took the answers is unknown ({why}).")


def _state(letter: Letter, run: RunView | None) -> str:
    """J keeps the end that was already written."""
    if letter == "J" and run is not None:
        return STATES[_BY_STATUS.get(run.status, "H")]
    return STATES[letter]


def _sentence(letter: Letter, http_status: int | None, run: RunView | None) -> str:
    said = (run.late_error if letter == "J" else run.error) if run is not None else None
    sentence = SENTENCES[letter].format(status=http_status, error=said or "no reason given")
    if run is not None and run.status == "unknown":
        return "The run ended in a way that this version does not know."
    return " ".join(filter(None, [_hint(run), sentence])) if letter in "BCD" else sentence


def _hint(run: RunView | None) -> str:
    code = (run.error_code or "").upper() if run is not None else ""
    return next((hint for part, hint in HINTS.items() if part in code), "")

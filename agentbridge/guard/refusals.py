"""What the guard says instead of the agent. The first six are the conditions of the Interrupts page, by name."""

from __future__ import annotations

import json
from collections.abc import Sequence

REQUIRED = "RESUME_REQUIRED"  # interrupts are open, and the input answers none of them
PARTIAL = "PARTIAL_RESUME"  # some of the open interrupts are not answered
UNKNOWN = "UNKNOWN_INTERRUPT"  # an answer to something that is not open here
EXPIRED = "INTERRUPT_EXPIRED"
PAYLOAD = "INVALID_PAYLOAD"  # against the interrupt's responseSchema
MALFORMED = "INVALID_RESUME"
ANSWERED = "INTERRUPT_ALREADY_ANSWERED"  # with other words
HIDDEN = "HIDDEN_ANSWER"  # beside `resume[]`, where nobody could check it
SIGNATURE = "APPROVAL_SIGNATURE_INVALID"
AMBIGUOUS = "AMBIGUOUS_RESUME"  # an old answer sent again, or a new one: the agent used an id twice
IN_DOUBT = "RESUME_IN_DOUBT"

# “Indeterminate” is the word by which a desk knows that nobody knows (T-71b): it asks a person.
DOUBT = (
    "The outcome of the answers to this thread is indeterminate: the connection to the agent was lost before it said"
    " how they ended. They are not sent again. Ask the agent's owner to look, and to settle it at the guard."
)


class Refusal(Exception):
    """This input does not reach the agent; it is told as a RUN_ERROR, and the run never begins."""

    def __init__(self, code: str, sentence: str, ids: Sequence[str] = ()) -> None:
        super().__init__(f"{sentence} ({', '.join(map(quoted, ids))})" if ids else sentence)
        self.code = code


class BadInput(Exception):
    """Not a RunAgentInput that can be assigned to a thread: HTTP 422, as from any agent."""


class Busy(Exception):
    """A run of the thread has not ended, or too many are open: HTTP 429 or 503, and nothing was taken."""

    def __init__(self, sentence: str, *, status: int) -> None:
        super().__init__(sentence)
        self.status = status


def quoted(id_: str) -> str:
    shown = id_.encode("utf-8", "backslashreplace").decode()
    return f"“{shown if len(shown) <= 80 else shown[:80] + '…'}”"


def run_error(code: str, sentence: str) -> bytes:
    """The frame; the id of no run belongs into it (S-1)."""
    event = {"type": "RUN_ERROR", "message": sentence, "code": code}
    return b"data: " + json.dumps(event, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n\n"

"""What a dialect is: how one framework announces a pause, and what it takes for an answer. Pure.

Sentences of kits and flags are kept in English and translated where they are shown; Django only marks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentbridge.wire.record import CallView, InterruptView, RunView
from approvals.kit import VerdictKit

Flag = dict[str, Any]


def flag(slug: str, sentence: str, pointer: str | None = None) -> Flag:
    """Something to know before deciding; `pointer` is into the arguments."""
    return {"slug": slug, "sentence": sentence, "pointer": pointer}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """One question of a run, whichever way it was announced."""

    interrupt: InterruptView
    call: CallView | None = None  # what would run; `missing`: no event of this run knows it
    legacy: bool = False  # announced otherwise than by an outcome
    among: int = 1  # questions of the same run: they are answered together
    schema: str | None = None  # of the answer, text of JSON: the interrupt's, or found where the framework puts it
    flags: list[Flag] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The recorded answer to one question; `answer` is exact JSON text, None when cancelled."""

    interrupt_id: str
    verdict: str
    answer: str | None
    legacy: bool = False
    raw: str = ""  # the interrupt as received: some legacy answers repeat a part of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """What goes into the resuming input. Only one of the three ways carries answers (L-7)."""

    entries: str = ""  # text of `resume[]`; "" = none
    forwarded_props: str | None = None  # None = as the interrupted run was asked with
    messages: list[str] = field(default_factory=list)  # texts of messages behind the history

    @property
    def sealed(self) -> tuple[bytes, bytes, bytes]:
        """What is sealed of it, as bytes: entries, forwardedProps and messages. Empty: not that way."""
        listed = f"[{','.join(self.messages)}]" if self.messages else ""
        entries, props, messages = (
            text.encode("utf-8", "surrogatepass") for text in (self.entries or "[]", self.forwarded_props or "", listed)
        )
        return entries, props, messages


class Dialect(Protocol):
    """Pure and without state. `recognise` finds every pause this dialect knows, legacy ones too."""

    name: str
    needs_history: bool  # runs what the history says: without the reviewed call in it nothing may be sent

    def evident(self, run: RunView) -> bool: ...
    def recognise(self, run: RunView) -> list[Pause]: ...
    def kit(self, pause: Pause) -> VerdictKit: ...
    def send(self, answers: Sequence[Answered], run_input_props: str) -> Sending: ...
    def arrange(self, messages: Sequence[str]) -> list[str]: ...

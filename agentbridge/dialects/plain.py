"""AG-UI as it is written: an interrupt outcome, answered by `resume[]`. Every other dialect departs from this one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentbridge.dialects import evidence, kits, sending
from agentbridge.dialects.contract import Answered, Flag, Pause, Sending
from agentbridge.wire.record import CallView, InterruptView, RunView
from approvals.kit import VerdictKit


class Plain:
    """The rules of the Interrupts page and of AG-UI 1.0, for agents of unknown make."""

    name = "plain"
    needs_history = False
    mark: str | None = None  # the member by which this framework signs its metadata

    def evident(self, run: RunView) -> bool:
        """Did this framework leave its mark on the run?"""
        return self.mark is not None and any(evidence.has(interrupt, self.mark) for interrupt in run.interrupts)

    def recognise(self, run: RunView) -> list[Pause]:
        """Every pause; one outcome is all there is to say, and custom events beside it are only recorded (L-3)."""
        if run.interrupts:
            pauses = [self.pause(run, interrupt) for interrupt in run.interrupts]
        else:
            pauses = self.legacy(run) if run.status == "succeeded" and not run.outcome else []
        return [replace(pause, among=len(pauses), flags=pause.flags + self.flags(run, pauses)) for pause in pauses]

    def pause(self, run: RunView, interrupt: InterruptView) -> Pause:
        """One interrupt with the call it is about."""
        claimed = evidence.claim(interrupt)
        call = self.subject(run, interrupt)
        flags = evidence.flags(interrupt, call, claimed)
        return Pause(interrupt=interrupt, call=call, schema=interrupt.response_schema, flags=flags)

    def subject(self, run: RunView, interrupt: InterruptView) -> CallView | None:
        """The call that would run."""
        return evidence.subject(interrupt, run, evidence.claim(interrupt))

    def legacy(self, run: RunView) -> list[Pause]:
        """Pauses that this framework announces without an outcome."""
        return []

    def flags(self, run: RunView, pauses: Sequence[Pause]) -> list[Flag]:
        """What is worth knowing on every question of this run."""
        return []

    def kit(self, pause: Pause) -> VerdictKit:
        """Each verdict as the answer it means here."""
        return kits.standard(pause)

    def send(self, answers: Sequence[Answered], run_input_props: str) -> Sending:
        """The answers of all questions of a run, in their order."""
        return Sending(entries=sending.entries(answers), forwarded_props=sending.without_one_shots(run_input_props))

    def arrange(self, messages: Sequence[str]) -> list[str]:
        """The history in the shape this framework reads."""
        return list(messages)

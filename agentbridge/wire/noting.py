"""Warnings of one run, with a ceiling: ten thousand equal deviations are one story, not ten thousand rows."""

from __future__ import annotations

from collections import Counter

from agentbridge.wire.protocol import Event, Note
from agentbridge.wire.record import RunView, Severity, Warning

CEILING = 50  # warnings of one rule at one member; the rest is counted


class Notes:
    """Writes into `run.warnings`. `place` and `kind` say where reading stands: set before each event."""

    def __init__(self, run: RunView) -> None:
        self.run = run
        self.place: int | str = ""
        self.kind = ""
        self._seen: Counter[tuple[str, Severity, str]] = Counter()

    def add(self, rule: str, severity: Severity, text: str, member: str = "") -> None:
        """One deviation at the current event."""
        where = f"{self.kind} {member}".strip()
        self._seen[rule, severity, where] += 1
        if self._seen[rule, severity, where] <= CEILING:
            self.run.warnings.append(Warning(rule, severity, f"{self.place} {where}".strip(), text))

    def take(self, note: Note) -> None:
        self.add(note.rule, note.severity, note.text, note.member)

    def reading(self, event: Event, number: int) -> None:
        """The event that is looked at from now on, with what was noted while it was parsed."""
        self.place, self.kind = number, event.type
        for note in event.notes:
            self.take(note)

    def close(self) -> None:
        """Say how many were left out; called when a run ends and when the body does."""
        for (rule, severity, where), count in self._seen.items():
            if count > CEILING:
                more = Warning(rule, severity, where, f"{count - CEILING} more like this were left out.")
                self.run.warnings.append(more)
                self._seen[rule, severity, where] = CEILING

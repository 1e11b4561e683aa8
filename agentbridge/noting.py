"""Warnings of one run, with a ceiling: ten thousand equal deviations are one story, not ten thousand rows."""

from __future__ import annotations

from collections import Counter

from agentbridge.protocol import Event, Note
from agentbridge.record import RunView, Severity, Warning

CEILING = 50  # warnings of one rule at one member; the rest is counted


class Notes:
    """Writes into `run.warnings`. `at` is where reading stands: set before each event."""

    def __init__(self, run: RunView) -> None:
        self.run = run
        self.at = ""
        self._seen: Counter[tuple[str, Severity, str]] = Counter()

    def add(self, rule: str, severity: Severity, text: str, member: str = "") -> None:
        """One deviation at the current event."""
        kind = (rule, severity, f"{self.at.partition(' ')[2]} {member}".strip())
        self._seen[kind] += 1
        if self._seen[kind] <= CEILING:
            self.run.warnings.append(Warning(rule, severity, f"{self.at} {member}".strip(), text))

    def take(self, note: Note) -> None:
        self.add(note.rule, note.severity, note.text, note.member)

    def reading(self, event: Event, number: int) -> None:
        """The event that is looked at from now on, with what was noted while it was parsed."""
        self.at = f"{number} {event.type}"
        for note in event.notes:
            self.take(note)

    def close(self) -> None:
        """Say how many were left out; called when a run ends and when the body does."""
        for (rule, severity, where), count in self._seen.items():
            if count > CEILING:
                more = Warning(rule, severity, where, f"{count - CEILING} more like this were left out.")
                self.run.warnings.append(more)
                self._seen[rule, severity, where] = CEILING

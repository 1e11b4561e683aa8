"""What a verification found, and what that means for a program that asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

GOOD, TAMPERED, USAGE, INCOMPLETE = 0, 1, 2, 3
UNREADABLE = (AttributeError, LookupError, TypeError, ValueError, RecursionError)


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it was written. `seq`: the entry concerned, if it is one."""

    kind: Literal["tampered", "incomplete"]
    sentence: str
    seq: int | None = None


Check = Callable[[datetime | None], Iterable[Finding]]  # only rows since then, where that is given


@dataclass
class Report:
    entries: int = 0
    head: str = ""  # leaf hash of the last entry: the anchor for the next time
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def tampered(self, sentence: str, seq: int | None = None) -> None:
        self.findings.append(Finding("tampered", sentence, seq))

    def incomplete(self, sentence: str, seq: int | None = None) -> None:
        self.findings.append(Finding("incomplete", sentence, seq))

    def unreadable(self, what: str, problem: Exception, seq: int | None = None) -> None:
        """Whoever forges makes forms that nobody wrote a reader for: that is a finding, not the end of the search."""
        self.tampered(f"{what} cannot be read: {type(problem).__name__}, {problem}.", seq)

    @property
    def status(self) -> int:
        """Exit code: never 0 on doubt."""
        kinds = {finding.kind for finding in self.findings}
        return TAMPERED if "tampered" in kinds else INCOMPLETE if kinds else GOOD

    @property
    def first_bad(self) -> int | None:
        """The first entry that was tampered with; findings about other rows have none."""
        return min((f.seq for f in self.findings if f.kind == "tampered" and f.seq is not None), default=None)

    def to_json(self) -> dict[str, Any]:
        return {
            "result": {GOOD: "good", TAMPERED: "tampered", INCOMPLETE: "incomplete"}[self.status],
            "entries": self.entries,
            "head": self.head,
            "firstBad": self.first_bad,
            "findings": [{"kind": f.kind, "seq": f.seq, "sentence": f.sentence} for f in self.findings],
            "notes": self.notes,
        }

"""The walk along the chain: every entry canonical, in its place, and every opened commitment true."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from approvals.trail import chain
from approvals.trail.verification.findings import Report

COMMITTED = frozenset(chain.COMMITTED)


class Written(NamedTuple):
    """One entry as it is stored: the body, its hash, what stands beside it with its salts (None: erased), and what it
    is filed under. A tuple, for a million of them are made.
    """

    seq: int
    body: bytes
    leaf_hash: str
    sentence: bytes | None
    refs: bytes | None
    data: bytes | None
    sentence_salt: bytes | None
    refs_salt: bytes | None
    data_salt: bytes | None
    verb: str
    at: datetime
    actor_kind: str
    actor: str | None  # pseudonym
    case: str | None
    task: str | None

    @property
    def sides(self) -> tuple[tuple[str, bytes | None, bytes | None], ...]:
        """Name, text and salt of everything that a body commits to."""
        return (
            ("sentence", self.sentence, self.sentence_salt),
            ("refs", self.refs, self.refs_salt),
            ("data", self.data, self.data_salt),
        )


class Walk:
    """Feed entries in order of `seq`; findings go into the report. `gaps`: a bundle may leave entries out."""

    def __init__(self, report: Report, *, gaps: bool = False) -> None:
        self.report, self.gaps = report, gaps
        self.seq, self.leaf, self.log = 0, chain.NOTHING_BEFORE, ""
        self.erased: list[tuple[int, str]] = []
        self.true = True  # are the texts of the last entry those that it committed to?

    def step(self, entry: Written) -> dict[str, Any] | None:
        """The members of the body, or None when they cannot be trusted."""
        self.report.entries += 1
        follows = self._place(entry.seq)
        leaf = chain.leaf_hash(entry.body)
        if leaf != entry.leaf_hash:
            self.report.tampered(f"The body of entry {entry.seq} does not have its hash.", entry.seq)
        members = self._members(entry, follows)
        # Go on from what the body really is: the next entry then shows which of the two was changed.
        self.seq, self.leaf = entry.seq, leaf
        self.report.head = entry.leaf_hash
        if members:
            self._commitments(entry, members["commit"])
        return members

    def _place(self, seq: int) -> bool:
        """Whether this entry directly follows the one before."""
        if seq == self.seq + 1:
            return True
        if not self.gaps:
            missing = f"Entry {self.seq + 1} is missing." if seq > self.seq else f"Entry {seq} is out of order."
            self.report.tampered(missing, min(self.seq + 1, seq))
        return False

    def _members(self, entry: Written, follows: bool) -> dict[str, Any] | None:
        try:
            members = chain.read_body(entry.body)
        except chain.NotCanonical as problem:
            self.report.tampered(f"Entry {entry.seq} is {problem}.", entry.seq)
            return None
        if members["seq"] != entry.seq:
            self.report.tampered(f"Entry {entry.seq} says that it is entry {members['seq']}.", entry.seq)
        if follows and members["prev"] != self.leaf:
            self.report.tampered(f"Entry {entry.seq} does not follow the entry before it.", entry.seq)
        self.log = self.log or members["log"]
        if members["log"] != self.log:
            self.report.tampered(f"Entry {entry.seq} belongs to another log.", entry.seq)
        return members

    def _commitments(self, entry: Written, commit: Any) -> None:
        self.true = isinstance(commit, dict) and commit.keys() == COMMITTED
        if not self.true:
            self.report.tampered(f"Entry {entry.seq} does not commit to its texts.", entry.seq)
            return
        for field, text, salt in entry.sides:
            if text is None and salt is None:
                self.erased.append((entry.seq, field))
            elif text is None or salt is None or chain.commitment(field, salt, text) != commit[field]:
                self.true = False
                self.report.tampered(f"The {field} of entry {entry.seq} is not what was committed to.", entry.seq)


def uncovered(erased: Sequence[tuple[int, str]], covered: set[tuple[int, str]], report: Report) -> None:
    """Whatever is gone must have been erased by an entry that says so."""
    for seq, field in erased:
        if (seq, field) not in covered:
            report.incomplete(f"The {field} of entry {seq} is gone, and no entry says that it was erased.", seq)

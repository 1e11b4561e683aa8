"""Checkpoints and anchors beside the walk: at every size that was ever signed, the entries make that root."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from approvals.models import Checkpoint
from approvals.trail import anchors, checkpoints, merkle, signednote
from approvals.trail.verification.findings import Report

NO_ANCHOR = "No anchor is configured: entries cut off at the end cannot be noticed. Keep the head elsewhere."


@dataclass
class Marks:
    """Roots that were signed, by size; feed the leaves in order, then `finish`."""

    report: Report
    tree: merkle.Range = field(default_factory=merkle.Range)
    signed: dict[int, dict[bytes, str]] = field(default_factory=lambda: defaultdict(dict))  # size → root → who says so
    agreed: int = 0  # the last size at which everything was as signed
    broken: bool = False  # from here on every root is another one: said once

    @classmethod
    def read(cls, report: Report, since: Checkpoint | None) -> Marks:
        marks = cls(report)
        keys = checkpoints.public_keys()
        rows = Checkpoint.objects.filter(size__gt=since.size if since else 0)
        for row in rows.order_by("size").iterator(chunk_size=500):
            marks._row(row, keys)
        for anchor in anchors.configured():
            marks._anchor(anchor, keys, since.size if since else 0)
        if not anchors.configured():
            report.notes.append(NO_ANCHOR)
        if since:
            marks.tree, marks.agreed = checkpoints.tree_of(since), since.size
        return marks

    def _row(self, row: Checkpoint, keys: list[bytes]) -> None:
        name = f"checkpoint {row.size}"
        self.signed[row.size][bytes.fromhex(row.root)] = name
        try:
            note = signednote.verify(row.note, keys)
            tree = checkpoints.tree_of(row)
        except (signednote.Unreadable, checkpoints.Broken) as problem:
            self.report.tampered(f"The {name} was changed: {problem}.")
            return
        if (note.size, note.root, note.log) != (row.size, tree.root(), checkpoints.origin()):
            self.report.tampered(f"The {name} is not what its note says.")

    def _anchor(self, anchor: anchors.Anchor, keys: list[bytes], after: int) -> None:
        held = False
        try:
            for text in anchor.notes():
                held = True
                if text is None:
                    self.report.incomplete(f"Anchor {anchor.name} holds a line that cannot be read.")
                    continue
                note = signednote.verify(text, keys)
                if note.size > after:
                    self.signed[note.size][note.root] = f"anchor {anchor.name}"
        except signednote.Unreadable as problem:
            self.report.tampered(f"Anchor {anchor.name} holds something else: {problem}.")
        except OSError as problem:
            self.report.incomplete(f"Anchor {anchor.name} cannot be read: {problem.strerror}.")
            return
        if not held and Checkpoint.objects.exists():
            self.report.incomplete(f"Anchor {anchor.name} holds no checkpoint.")

    def step(self, leaf: str) -> None:
        """The next entry's leaf, as its body really hashes."""
        self.tree.append(bytes.fromhex(leaf))
        roots = self.signed.pop(self.tree.end, None)
        if not roots or self.broken:
            return
        root = self.tree.root()
        for other, name in roots.items():
            if other != root:
                self._differs(name)
                return
        self.agreed = self.tree.end

    def _differs(self, name: str) -> None:
        """Which entry it was is known only if the walk found it; else the first one that nobody signed."""
        self.broken = True
        first, last = self.agreed + 1, self.tree.end
        named = any(f.seq is not None and f.kind == "tampered" for f in self.report.findings)
        said = f"Entries {first} to {last} are not those that {name} signed."
        self.report.tampered(said, None if named else first)

    def finish(self, head: int) -> None:
        """Sizes that were signed and never reached: entries are missing at the end."""
        beyond = {size: names for size, names in self.signed.items() if size > head}
        if beyond:
            size = max(beyond)
            name = next(iter(beyond[size].values()))
            self.report.tampered(f"Entries {head + 1} to {size} are missing: {name} has seen them.", head + 1)


def start_at(size: int) -> Checkpoint:
    """A checkpoint to go on from. Raises LookupError when there is none, or none that can be believed."""
    found = Checkpoint.objects.filter(size=size).first()
    if found is None:
        raise LookupError(f"There is no checkpoint of {size} entries.")
    try:
        note = signednote.verify(found.note, checkpoints.public_keys())
        tree = checkpoints.tree_of(found)
    except (signednote.Unreadable, checkpoints.Broken) as problem:
        raise LookupError(f"Checkpoint {size} cannot be believed: {problem}.") from None
    if (note.size, note.root) != (size, tree.root()):
        raise LookupError(f"Checkpoint {size} is not what its note says.")
    return found


def head_of(checkpoint: Checkpoint) -> str:
    """The leaf hash of the last entry that it signed, from the note itself."""
    lines = dict(line.partition(" ")[::2] for line in signednote.read(checkpoint.note).more)
    return lines.get("prev-head", "")

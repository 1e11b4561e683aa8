"""Is the trail what was written? Walks the whole chain and compares it with the rows it speaks of.

Streaming: a million entries in about a minute, memory by decisions and not by entries. Others add their own checks of
rows that this app does not know: `verify(checks=[…])`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from approvals import audit, guards
from approvals.models import AuditEntry, AuditLog
from approvals.trail import chain
from approvals.trail.verification import marks
from approvals.trail.verification.entries import Walk, Written, uncovered
from approvals.trail.verification.findings import GOOD, INCOMPLETE, TAMPERED, UNREADABLE, USAGE, Check, Finding, Report
from approvals.trail.verification.rows import COLUMNS, Rows, illegal_states

__all__ = ["GOOD", "INCOMPLETE", "TAMPERED", "USAGE", "Check", "Finding", "Report", "Walk", "Written", "told", "verify"]

audit.register("verify.result")

SIDES = [name for field in chain.COMMITTED for name in (field, f"{field}_salt")]
OVERLAP = timedelta(hours=1)  # a row is a little older than its entry, and its entry older than the checkpoint


def verify(checks: Sequence[Check] = (), *, since: int | None = None) -> Report:
    """Check everything there is; the report says what was found, and the exit code for it.

    `since`: the size of a checkpoint; what it signed is believed, and only what came after is checked. Raises
    LookupError when there is no such checkpoint.
    """
    report = Report()
    start = None if since is None else marks.start_at(since)
    after, edge = (start.size, start.made_at - OVERLAP) if start else (0, None)
    rows = Rows.read(report, since=edge, after=after)
    signed = marks.Marks.read(report, start)
    walk = Walk(report)
    if start:
        walk.seq, walk.leaf = after, marks.head_of(start)
        report.notes.append(f"Entries up to {after} were believed, as the checkpoint signed them.")
    for stored in _stored(after):
        entry = written(stored)
        members = walk.step(entry)
        signed.step(walk.leaf)
        if members:
            try:
                rows.columns(entry.seq, members, stored)
                if walk.true:  # what was changed tells nothing
                    rows.told(entry.seq, members, stored["data"])
            except UNREADABLE as problem:
                report.unreadable(f"Entry {entry.seq}", problem, entry.seq)
    if walk.log and not AuditLog.objects.filter(origin=walk.log).exists():
        report.tampered("The log's own name was changed.")
    signed.finish(walk.seq)
    rows.compare()
    uncovered(walk.erased, rows.covered, report)
    for sentence in illegal_states():
        report.tampered(sentence)
    for name in guards.missing(guards.ALL, connection):
        report.tampered(f"The database no longer protects its rows: trigger {name} is missing.")
    for check in checks:
        try:
            for finding in check(edge):
                report.findings.append(finding)
        except UNREADABLE as problem:
            report.unreadable("What stands beside the trail", problem)
    return report


def told(report: Report, *, now: datetime) -> None:
    """Put on the trail what a verification found, for whoever asks when it was last good."""
    found = report.to_json()
    data = {name: found[name] for name in ("result", "entries", "head", "firstBad")}
    data["findings"] = dict(Counter(finding.kind for finding in report.findings))
    said = f"The trail was verified, {report.entries} entries: {found['result']}."
    audit.record("verify.result", said, data=data, now=now)


def written(stored: dict[str, Any]) -> Written:
    texts = {field: stored[field] for field in chain.COMMITTED}
    return Written(
        seq=stored["seq"],
        body=stored["body"],
        leaf_hash=stored["leaf_hash"],
        texts={field: None if text is None else chain.stored_bytes(text) for field, text in texts.items()},
        salts={field: stored[f"{field}_salt"] for field in chain.COMMITTED},
    )


def _stored(after: int) -> Iterator[dict[str, Any]]:
    rows = AuditEntry.objects.filter(seq__gt=after).order_by("seq").values("seq", "body", "leaf_hash", *SIDES, *COLUMNS)
    return rows.iterator(chunk_size=2000)

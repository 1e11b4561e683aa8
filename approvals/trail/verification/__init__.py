"""Is the trail what was written? Walks the whole chain and compares it with the rows it speaks of.

Streaming: a million entries in about a minute, memory by decisions and not by entries. Others add their own checks of
rows that this app does not know: `verify(checks=[…])`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from django.db import connection

from approvals import audit, guards
from approvals.fields import raw
from approvals.models import AuditEntry, AuditLog
from approvals.trail import chain
from approvals.trail.verification import marks
from approvals.trail.verification.entries import Walk, Written, uncovered
from approvals.trail.verification.findings import GOOD, INCOMPLETE, TAMPERED, UNREADABLE, USAGE, Check, Finding, Report
from approvals.trail.verification.rows import COLUMNS, Rows, illegal_states

__all__ = ["GOOD", "INCOMPLETE", "TAMPERED", "USAGE", "Check", "Finding", "Report", "Walk", "Written", "told", "verify"]

audit.register("verify.result")

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
    for entry in _written(after):
        members = walk.step(entry)
        signed.step(walk.leaf)
        if members:
            try:
                rows.columns(entry, members)
                if walk.true:  # what was changed tells nothing
                    rows.told(entry.seq, members, entry.data)
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


def _written(after: int) -> Iterator[Written]:
    """In their order, as stored and unread."""
    texts, salts = [raw(field) for field in chain.COMMITTED], [f"{field}_salt" for field in chain.COMMITTED]
    found = AuditEntry.objects.filter(seq__gt=after).order_by("seq")
    rows = found.values_list("seq", "body", "leaf_hash", *texts, *salts, *COLUMNS).iterator(chunk_size=2000)
    return map(Written._make, rows)

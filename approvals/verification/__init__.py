"""Is the trail what was written? Walks the whole chain and compares it with the rows it speaks of.

Streaming: a million entries in about a minute, memory by decisions and not by entries. Others add their own checks of
rows that this app does not know: `verify(checks=[…])`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import connection

from approvals import chain, guards
from approvals.models import AuditEntry, AuditLog
from approvals.verification.entries import Walk, Written, uncovered
from approvals.verification.findings import GOOD, INCOMPLETE, TAMPERED, USAGE, Check, Finding, Report
from approvals.verification.rows import COLUMNS, Rows, illegal_states

__all__ = ["GOOD", "INCOMPLETE", "TAMPERED", "USAGE", "Check", "Finding", "Report", "Walk", "Written", "verify"]

SIDES = [name for field in chain.COMMITTED for name in (field, f"{field}_salt")]
NO_ANCHOR = "No anchor is configured: entries cut off at the end cannot be noticed. Keep the head elsewhere."


def verify(checks: Sequence[Check] = ()) -> Report:
    """Check everything there is; the report says what was found, and the exit code for it."""
    report = Report(notes=[NO_ANCHOR])
    rows = Rows.read(report)
    walk = Walk(report)
    for stored in _stored():
        entry = written(stored)
        members = walk.step(entry)
        if members:
            rows.columns(entry.seq, members, stored)
            rows.told(entry.seq, members, stored["data"])
    if walk.log and not AuditLog.objects.filter(origin=walk.log).exists():
        report.tampered("The log's own name was changed.")
    rows.compare()
    uncovered(walk.erased, rows.covered, report)
    for sentence in illegal_states():
        report.tampered(sentence)
    for name in guards.missing((*guards.GUARDS, *guards.LATER, *guards.BESIDE), connection):
        report.tampered(f"The database no longer protects its rows: trigger {name} is missing.")
    for check in checks:
        report.findings.extend(check())
    return report


def written(stored: dict[str, Any]) -> Written:
    texts = {field: stored[field] for field in chain.COMMITTED}
    return Written(
        seq=stored["seq"],
        body=stored["body"],
        leaf_hash=stored["leaf_hash"],
        texts={field: None if text is None else chain.stored_bytes(text) for field, text in texts.items()},
        salts={field: stored[f"{field}_salt"] for field in chain.COMMITTED},
    )


def _stored() -> Iterator[dict[str, Any]]:
    rows = AuditEntry.objects.order_by("seq").values("seq", "body", "leaf_hash", *SIDES, *COLUMNS)
    return rows.iterator(chunk_size=2000)

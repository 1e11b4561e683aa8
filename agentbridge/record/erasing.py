"""Carrying out an erasure: what both apps hold of a conversation goes in one transaction, and the trail says so.

Of the bridge: raw streams, inputs, arguments and results, pauses as received, sealed answers. Stay: that there were
runs and attempts, when, how they ended, how many bytes, and the digests by which a copy elsewhere could be recognised.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import connection, transaction
from django.utils.translation import gettext as _

from agentbridge.models import Incident, Interrupt, Resume, Run, StreamChunk, ToolCall
from agentbridge.models.notes import ProtocolNote
from agentbridge.models.runs import RunQuerySet
from approvals import locking
from approvals.erasing import asking, contents, retention
from approvals.models import AuditEntry, Case, Decision, Erasure, Exhibit, Task, User
from approvals.refusals import NotAllowed, WrongState
from approvals.trail import trailindex

TOUCHED = (AuditEntry, Exhibit, Decision, Task, StreamChunk, Run, ToolCall, Interrupt, Resume, Incident)


@transaction.atomic
def carry_out(erasure: Erasure, *, by: User, now: datetime) -> int:
    """Erase; how many texts of the trail went. Raises NotAllowed (four eyes), WrongState (held, not over, done)."""
    cases = _locked(erasure.case)
    by = locking.locked_person(by)
    if sentence := asking.may_do(by, erasure):
        raise NotAllowed(sentence)
    if not asking.waiting().filter(pk=erasure.pk).update(done_by=by, done_at=now):
        raise WrongState(_("This is done or refused already."))
    return _erase(erasure, cases, now)


@transaction.atomic
def carry_out_rule(due: retention.Due, *, now: datetime) -> int:
    """What a rule says, in the names of the two who agreed to it. Raises WrongState (held since, not over)."""
    rule, cases = due.rule, _locked(due.case)
    asked = {"reason": due.reason, "basis": rule.basis, "asked_by": rule.asked_by, "asked_at": rule.asked_at}
    erasure = Erasure.objects.create(case=due.case, rule=rule, **asked, done_by=rule.agreed_by, done_at=now)
    return _erase(erasure, cases, now)


def _locked(case: Case) -> list[Case]:
    """All cases of the conversation, locked in one order. Raises WrongState when something is in the way."""
    found = asking.conversation(case).order_by("pk").values_list("pk", flat=True)
    cases = [locking.locked_case(Case(pk=pk)) for pk in found]
    if sentence := asking.in_the_way(case):
        raise WrongState(sentence)
    if runs_of(cases).in_flight().exists():
        raise WrongState(_("A run of this conversation is under way."))
    return cases


def _erase(erasure: Erasure, cases: Sequence[Case], now: datetime) -> int:
    erasure.refresh_from_db()
    rows = _erase_rows(cases)
    cover = contents.erase(cases)
    for place, case in enumerate(cases):  # what went is told once, on the first case; each says that it was erased
        contents.told(case, erasure, cover=cover if not place else [], rows=rows if not place else {}, now=now)
    return len(cover)


def runs_of(cases: Sequence[Case]) -> RunQuerySet:
    """Every run of the conversations: later ones carry what was said before."""
    asked = Interrupt.objects.filter(task__case__in=cases).values("run__thread")
    return Run.objects.filter(thread__in=asked)


def _erase_rows(cases: Sequence[Case]) -> dict[str, int]:
    runs = list(runs_of(cases).values_list("pk", flat=True))
    note = {"where": "", "text": ""}
    return {
        "chunks": StreamChunk.objects.filter(run__in=runs).update(data=b""),
        "runs": Run.objects.filter(pk__in=runs).update(
            input=b"", snapshot="", error="", error_code="", warnings="[]"
        ),
        "calls": ToolCall.objects.filter(run__in=runs).update(args="", result=None),
        "pauses": Interrupt.objects.filter(run__in=runs).update(raw=""),
        "sealed": Resume.objects.filter(case__in=cases).update(
            entries=b"", forwarded_props=b"", messages=b"", signature="", note=""
        ),
        "incidents": Incident.objects.filter(case__in=cases).update(text="", reason=""),
        "notes": ProtocolNote.objects.filter(last_run__in=runs).update(**note),
    }


def scrub(*, thorough: bool = False) -> None:
    """Make what was erased unreadable in the files too. Outside transactions only; `thorough` takes its time.

    SQLite overwrites what it frees (`secure_delete`); the log is written into the file and cut. Thorough: the index of
    words is merged and the file written anew. PostgreSQL: thorough writes the touched tables anew (VACUUM FULL locks
    them meanwhile); its own log and its backups grow old elsewhere.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            if thorough and trailindex.is_there():
                cursor.execute(f"INSERT INTO {trailindex.INDEX}({trailindex.INDEX}) VALUES ('optimize')")  # noqa: S608
            if thorough:
                cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        elif thorough:
            for model in TOUCHED:
                cursor.execute(f'VACUUM (FULL) "{model._meta.db_table}"')

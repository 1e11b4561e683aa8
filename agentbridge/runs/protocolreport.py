"""How an agent departs from the protocol, added up as its runs end: its page never reads the runs themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F

from agentbridge import visibility
from agentbridge.models import Agent, ProtocolNote, Run
from approvals import jsontext
from approvals.models import User

RANK = {"error": 0, "warning": 1, "info": 2}


@transaction.atomic
def count(run: Run) -> None:
    """Add those warnings of a run that are not in the report yet; counting again adds nothing.

    Called last in a transaction: who holds a row of the report waits for nobody.
    """
    rows = Run.objects.select_for_update(of=("self",), no_key=True).select_related("thread")
    count_locked(rows.only("warnings", "warnings_counted", "thread__agent_id").get(pk=run.pk))


def count_locked(run: Run) -> None:
    """The same for a row that was read under its lock in this transaction."""
    warnings = jsontext.loads(run.warnings)
    fresh = warnings[run.warnings_counted :]
    if not fresh:
        return
    Run.objects.filter(pk=run.pk).update(warnings_counted=len(warnings))
    for (rule, severity), found in sorted(grouped(fresh).items()):  # one order: two runs never wait in a circle
        _add(run, rule, severity, found)


def grouped(warnings: Sequence[Mapping[str, str]]) -> dict[tuple[str, str], list[Mapping[str, str]]]:
    found: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    for each in warnings:
        found.setdefault((each["rule"], each["severity"]), []).append(each)
    return found


def _add(run: Run, rule: str, severity: str, found: Sequence[Mapping[str, str]]) -> None:
    last: dict[str, Any] = {"last_run": run, "where": found[-1]["where"], "text": found[-1]["text"]}
    note, made = ProtocolNote.objects.get_or_create(
        agent_id=run.thread.agent_id, rule=rule, severity=severity, defaults={"count": len(found), **last}
    )
    if not made:
        ProtocolNote.objects.filter(pk=note.pk).update(count=F("count") + len(found), **last)


@dataclass(frozen=True)
class Line:
    """One rule in the report; the example is shown only to those who may see its run."""

    note: ProtocolNote
    example: Run | None


def of_agent(agent: Agent, user: User) -> list[Line]:
    """The worst first, then the most frequent."""
    notes = sorted(agent.protocol_notes.all(), key=lambda note: (RANK.get(note.severity, 1), -note.count, note.rule))
    seen = visibility.runs(user).filter(pk__in=[note.last_run_id for note in notes])
    runs = seen.select_related("thread__agent").defer("input", "snapshot", "warnings").in_bulk()
    return [Line(note, runs.get(note.last_run_id)) for note in notes]

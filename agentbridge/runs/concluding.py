"""How a run ends, once and in one transaction: its rows, its case, its delivery, and the entries that tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from agentbridge import dialects, trail
from agentbridge.delivery import ending, outgoing, resuming, standing
from agentbridge.delivery.moves import move
from agentbridge.delivery.tickets import Head
from agentbridge.dialects.contract import Dialect, Pause, flag
from agentbridge.models import DeliveryState, Interrupt, Run, ToolCall
from agentbridge.models.agents import key_of
from agentbridge.runs import opening, protocolreport, unasked
from agentbridge.wire import history
from agentbridge.wire.record import InterruptView, RunView, Warning
from approvals import jsontext
from approvals.models import Case
from approvals.prepared import Change, Prepared, slot

START = ("accepted_at", "protocol_version", "parent_run_id")
END = ("status", "ended_at", "dialect", "outcome", "events", "error", "error_code", "warnings", "snapshot")
GROWING = ("warnings", "events", "bytes_received")
starts = Change(lambda: Run.objects.filter(pk=slot("run"), accepted_at=None), *START)
ends = Change(lambda: Run.objects.filter(pk=slot("run")), *END)
closed = Change(lambda: Run.objects.filter(pk=slot("run"), lease_until__isnull=False), "lease_owner", "lease_until")
grown = Prepared(lambda: Run.objects.filter(pk=slot("run")).values_list(*GROWING))
runs_locked = Prepared(
    lambda: (
        Run.objects.select_for_update(of=("self",), no_key=True).select_related("thread__agent").filter(pk=slot("run"))
    )
)
UNDECIDED = (Run.Status.QUEUED, Run.Status.RUNNING, Run.Status.UNKNOWN)  # UNKNOWN: late evidence still counts
SAID = {
    "succeeded": ("run.finished", "The run finished."),
    "interrupted": ("run.interrupted", "The run paused and asks {count}."),
    "cancelled": ("run.cancelled", "The agent cancelled the run."),
    "failed": ("run.failed", "The agent reported an error: {error}"),
    "rejected": ("run.rejected", "We refused the stream: {rejected}"),
    "truncated": ("run.truncated", "The stream ended without the run's end{cut}."),
    "refused": ("run.refused", "The agent refused the request: HTTP {http}."),
    "unknown": ("run.unknown", "What became of the run is not known."),
}


def accepted(run: Run, view: RunView, *, now: datetime) -> None:
    """Our RUN_STARTED is here: for a delivery, the agent has the answers."""
    with transaction.atomic(savepoint=False):
        resume = resuming.locked(run.resume_id) if run.resume_id else None
        if not starts.set({"accepted_at": now, **stated(view)}, run=run.pk):
            return
        case = resume.case if resume else None
        trail.of_run("run.started", "The agent started the run.", run=run, case=case, now=now)
        started = (DeliveryState.ARMED, DeliveryState.IN_DOUBT)  # in doubt: late evidence
        if resume is not None and resume.state in started and ending.is_newest(resume, run):
            move(
                resume, DeliveryState.ACCEPTED, sentence="The agent started a run with the answers.", run=run, now=now,
                fenced=False, lease_owner=run.lease_owner, lease_until=now + timedelta(seconds=settings.LEASE_SECONDS),
            )  # fmt: skip


def stated(view: RunView) -> dict[str, Any]:
    """What a run says about itself at its start."""
    return {
        "protocol_version": column(view.protocol_version, 40),
        "parent_run_id": view.parent_run_id or "",
    }


def column(text: str | None, length: int) -> str:
    """The beginning of a foreign word, as a column of text takes it: an index over the raw stream."""
    return jsontext.storable(text or "")[:length]


@dataclass(frozen=True, slots=True)
class Spelt:
    """What the end of a run stores, as it will stand in the columns: spelling megabytes takes longer than writing them,
    and whoever writes keeps others waiting."""

    snapshot: str
    digest: str  # SHA-256 of the snapshot
    results: Mapping[str, str]  # tool call id: JSON list of {"messageId","text"} in order of arrival
    warnings: Sequence[Warning]

    @classmethod
    def of(cls, view: RunView) -> Spelt:
        messages, state, warnings = history.outgoing(view, view.input)
        snapshot = outgoing.Snapshot(tuple(messages), state).to_text()
        results: dict[str, list[dict[str, str]]] = {}
        for result in view.results:
            results.setdefault(result.tool_call_id, []).append({"messageId": result.message_id, "text": result.text})
        return cls(
            snapshot=snapshot,
            digest=trail.sha256(snapshot.encode("utf-8", "surrogatepass")),
            results={call_id: jsontext.dumps(listed) for call_id, listed in results.items()},
            warnings=warnings,
        )


def conclude(run: Run, view: RunView, *, head: Head, now: datetime) -> None:
    """Write the run's end. A second call with later news adds only pauses that were not there before."""
    spelt = Spelt.of(view)
    with transaction.atomic():
        resume = resuming.locked(run.resume_id) if run.resume_id else None
        opening.hold(run.thread)
        run = runs_locked.one(run=run.pk)
        dialect, pauses, warnings = understood(run, view)
        if run.status in UNDECIDED:
            status = status_of(view, pauses, head)
            _write_end(run, view, dialect, spelt, status=status, warnings=warnings, trouble=head.trouble, now=now)
            _write_calls(run, view, spelt.results)
            case = resume.case if resume else None
            _tell(run, view, pauses, status, digest=spelt.digest, case=case, head=head, now=now)
            unasked.tell(run, view, pauses, case=case, now=now)
            if resume is not None:
                ending.end(resume, run, view, paused=bool(pauses), head=head, now=now)
            if head.status == standing.GONE:
                standing.gone(run.thread.agent, now=now)
        if pauses and not run.interrupts.exists():
            _write_interrupts(run, pauses)
            opening.open_case(run, view, dialect, pauses, now=now)
        elif not pauses:
            opening.notice_end(run, now=now)
        protocolreport.count_locked(run)


def close(run: Run) -> None:
    """Its answer was read to the end and acted on; until then its lease says that a lost worker's sweep has to."""
    closed.set({"lease_owner": "", "lease_until": None}, run=run.pk)


def understood(run: Run, view: RunView) -> tuple[Dialect, Sequence[Pause], Sequence[Warning]]:
    return dialects.recognise(view, run.thread.agent.dialect)


def status_of(view: RunView, pauses: Sequence[Pause], head: Head) -> str:
    """The word for the end. An announced pause is a pause, however it was announced (L-6)."""
    if head.refused:
        return Run.Status.REFUSED
    if view.status == "succeeded" and pauses:
        return Run.Status.INTERRUPTED
    return Run.Status.TRUNCATED if view.status == "running" else view.status


def write_seen(run: Run, view: RunView, *, now: datetime) -> None:
    """The end of a run that was only seen in another one's stream: rows, and no delivery."""
    dialect, pauses, warnings = understood(run, view)
    spelt = Spelt.of(view)
    status = status_of(view, pauses, Head())
    _write_end(run, view, dialect, spelt, status=status, warnings=warnings, trouble="", now=now)
    _write_calls(run, view, spelt.results)
    protocolreport.count(run)


@transaction.atomic
def open_seen(run: Run, view: RunView, *, now: datetime) -> None:
    """T-88: the newest run of a stream is a pause that we did not know: one case, marked as seen in replay."""
    dialect, pauses, _warnings = understood(run, view)
    opening.hold(run.thread)
    if pauses and not run.interrupts.exists():
        for pause in pauses:
            pause.flags.append(flag("seen-in-replay", "Seen in replayed history: nobody here saw it happen."))
        _write_interrupts(run, pauses)
        opening.open_case(run, view, dialect, pauses, now=now)


def refresh(run: Run, view: RunView, *, received: int) -> None:
    """What trailing events added: counts, warnings, calls. The end and what was shown stay. Mostly nothing."""
    known = grown.one(run=run.pk)
    run.warnings, run.events, run.bytes_received = known
    _dialect, _pauses, warnings = understood(run, view)
    rows = jsontext.dumps(told(run, view, warnings))
    fresh = {"warnings": rows, "events": view.events, "bytes_received": received}
    if tuple(fresh.values()) == known:
        return
    spelt = Spelt.of(view)
    with transaction.atomic():  # whoever finds the counts as they are leaves it at that
        Run.objects.filter(pk=run.pk).update(**fresh)
        _write_calls(run, view, spelt.results)
        protocolreport.count(run)


def told(run: Run, view: RunView, warnings: Sequence[Warning]) -> list[dict[str, str]]:
    """All warnings of a run: those known before it was sent, then what reading it brought, each once."""
    known = [*jsontext.loads(run.warnings), *as_rows([*view.warnings, *warnings])]
    return list({tuple(row.items()): row for row in known}.values())


def _write_end(run: Run, view: RunView, dialect: Dialect, spelt: Spelt, *, status: str, warnings: Sequence[Warning],
               trouble: str, now: datetime) -> None:
    run.status, run.ended_at, run.dialect = status, now, dialect.name
    run.outcome, run.events = view.outcome, view.events
    run.error = view.error or view.rejected or view.cut or trouble
    run.error_code = column(view.error_code, 200)
    run.warnings = jsontext.dumps(told(run, view, [*warnings, *spelt.warnings]))
    run.snapshot = spelt.snapshot
    ends.set({name: getattr(run, name) for name in END}, run=run.pk)


def as_rows(warnings: Sequence[Warning]) -> list[dict[str, str]]:
    return [{"rule": w.rule, "severity": w.severity, "where": w.where, "text": w.text} for w in warnings]


def _write_calls(run: Run, view: RunView, results: Mapping[str, str]) -> None:
    ToolCall.objects.bulk_create(
        [
            ToolCall(
                run=run, key=key_of(call.id), tool_call_id=call.id, position=position, name=call.name, args=call.args,
                state=call.state, result=results.get(call.id),
            )
            for position, call in enumerate(view.calls.values())
        ],
        ignore_conflicts=True,
    )  # fmt: skip


def _write_interrupts(run: Run, pauses: Sequence[Pause]) -> None:
    legacy = {id(pause.interrupt) for pause in pauses if pause.legacy}
    Interrupt.objects.bulk_create(
        [
            Interrupt(
                run=run, position=position, key=key_of(asked.id or ""), interrupt_id=asked.id, raw=asked.raw,
                legacy=id(asked) in legacy, quarantined=asked.quarantined,
            )
            for position, asked in enumerate(asked_by(pauses))
        ]
    )  # fmt: skip


def asked_by(pauses: Sequence[Pause]) -> list[InterruptView]:
    return [pause.interrupt for pause in pauses]


def _tell(run: Run, view: RunView, pauses: Sequence[Pause], status: str, *, digest: str, case: Case | None, head: Head,
          now: datetime) -> None:
    verb, sentence = SAID[status]
    count = "one question" if len(pauses) == 1 else f"{len(pauses)} questions"
    trail.of_run(
        verb,
        sentence.format(
            count=count, error=view.error or "", rejected=view.rejected or "", http=head.status,
            cut=f": {(view.cut or head.trouble).rstrip('.')}" if view.cut or head.trouble else "",
        ),
        run=run, case=case, now=now,
        data={
            "status": status, "outcome": view.outcome, "events": view.events,
            **({"errorCode": view.error_code} if view.error_code else {}),
            "interruptIds": [asked.id for asked in asked_by(pauses)], "dialect": run.dialect,
            "snapshotSha256": digest,
        },
    )  # fmt: skip

"""The record is the same however the network cuts an answer (C-29b, issue 3: property of the recorder)."""

from __future__ import annotations

from typing import Any

import pytest

from agentbridge.models import Agent, Incident, Interrupt
from approvals import jsontext
from approvals.models import Exhibit, Task, User
from tests.agentbridge.recordings import Tape
from tests.scripted_agent import call, failed, finished, frame, interrupt, result, started

ANSWERS = {
    "pause": [started(), call(), finished(interrupt())],
    "pause, late error": [started(), call(), finished(interrupt()), failed("late")],
    "pause, then another result": [started(), call(), finished(interrupt()), result("done")],
    "result before the pause": [started(), call(), result("this call requires approval"), finished(interrupt())],
    "error, then a pause": [started(), call(), failed("no"), finished(interrupt())],
    "told again after the pause": [started(), call(), finished(interrupt()), call(args='{"amount":9}')],
    "told twice before it": [started(), call(), call(args='{"amount":9}'), finished(interrupt())],
    "run inside a run": [started(), started().replace(b"__RUN__", b"x"), call(), finished(interrupt())],
    "nothing but text": [frame(type="TEXT_MESSAGE_START", messageId="m"), finished(interrupt())],
    "other runs": [
        started().replace(b"__RUN__", b"old"), finished(interrupt("i-0")).replace(b"__RUN__", b"old"),
        started(), call(), finished(interrupt()),
    ],
    "and one more": [
        started(), call(), finished(interrupt()), started().replace(b"__RUN__", b"x"),
        finished().replace(b"__RUN__", b"x"),
    ],
    "unending": [started(), call(), b'data: {"type":"RUN_FIN'],
}  # fmt: skip


def rows(run: Any) -> Any:
    """What is on record about a run and its questions, without ids and times."""
    told = Task.objects.filter(pk__in=run.interrupts.values("task")).order_by("position")
    return {
        "run": (run.status, run.outcome, run.error, run.error_code, run.answer_class, run.events, run.dialect),
        "warnings": sorted((w["rule"], w["where"]) for w in jsontext.loads(run.warnings)),
        "calls": list(run.tool_calls.order_by("position").values_list("tool_call_id", "args", "state")),
        "asked": list(run.interrupts.order_by("position").values_list("raw", "quarantined")),
        "tasks": [
            (t.state, t.case.state, t.case.blocked, sorted(f["slug"] for f in t.flags),
             Exhibit.objects.filter(task=t).count(), len(jsontext.loads(t.results or "[]")))
            for t in told
        ],
        "incidents": sorted(Incident.objects.filter(run=run).values_list("kind", flat=True)),
    }  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("tolerances", [[], ["events-after-error", "nested-run", "first-event"]])
@pytest.mark.parametrize("name", ANSWERS)
def test_one_chunk_many_chunks_and_odd_chunks_leave_the_same_record(
    payments: Any, alice: User, name: str, tolerances: list[str]
) -> None:
    tape = Tape(payments, alice, tolerances=tolerances)
    recorded = []
    for n, size in enumerate((100_000, 40, 7)):
        raw = b"".join(ANSWERS[name]).replace(b"__RUN__", b"run-%d" % n).replace(b"__THREAD__", b"t-%d" % n)
        chunks = [raw[at : at + size] for at in range(0, len(raw), size)]
        run = tape.record(*chunks, thread=f"t-{n}", run_id=f"run-{n}")
        recorded.append(str(rows(run)).replace(f"run-{n}", "run"))
    assert recorded[0] == recorded[1] == recorded[2]
    assert (Agent.objects.get().tolerances, Interrupt.objects.exists()) == (tolerances, name != "unending")

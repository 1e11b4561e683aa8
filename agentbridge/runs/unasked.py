"""What a run did without asking anybody: one entry, so that the trail also tells what nobody here decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from agentbridge import translation
from agentbridge.dialects.contract import Pause
from agentbridge.models import Run, Thread
from agentbridge.wire.record import RunView
from approvals import audit
from approvals.models import Case, Task


def tell(run: Run, view: RunView, pauses: Sequence[Pause], *, case: Case | None, now: datetime) -> None:
    """Name the calls of a run that no question of its thread was about; in the transaction that ends the run."""
    asked = {id_ for pause in pauses for id_ in (pause.interrupt.tool_call_id, pause.call and pause.call.id)}
    others = [call for call in view.calls.values() if call.id not in asked]
    before = asked_on(run.thread) if others else set()
    results = Counter(result.tool_call_id for result in view.results)
    calls = [
        {"toolCallId": call.id, "name": call.name, "state": call.state, "results": results[call.id]}
        for call in others
        if call.id not in before
    ]
    if calls:
        done = sum(1 for call in calls if call["results"])
        sentence = f"Tool calls that nobody here was asked about: {len(calls)}, with a result: {done}."
        _record(run, sentence, case=case, data={"calls": calls}, now=now)


def _record(run: Run, sentence: str, *, case: Case | None, data: dict[str, Any], now: datetime) -> None:
    """The run is name enough: the entry stands beside the run's others, on their thread."""
    thread = run.thread
    audit.record(
        "run.unasked", sentence, case=case, agent=thread.agent.slug, thread_key=thread.key,
        refs={"agent": thread.agent.slug, "runId": run.run_id}, data=data, now=now,
    )  # fmt: skip


def asked_on(thread: Thread) -> set[str]:
    """Ids of the calls that any question of this thread was about: a resumed run may tell them all again."""
    tasks = Task.objects.filter(agent=thread.agent.slug, thread_key=thread.key)
    found = (translation.refs_of(task) for task in tasks.only("refs"))
    return {refs[name] for refs in found for name in ("toolCallId", "gatedCallId") if refs.get(name)}

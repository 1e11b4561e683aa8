"""Where a run begins and ends: RUN_STARTED, RUN_FINISHED and RUN_ERROR, written into its view."""

from __future__ import annotations

from agentbridge.wire import outcomes
from agentbridge.wire.calls import argument_state
from agentbridge.wire.openrun import OpenRun
from agentbridge.wire.protocol import PROTOCOL_VERSION, Event, excerpt
from agentbridge.wire.record import CallView, Fact, Failed, Finished, Paused, RunStatus

ENDINGS: dict[str, RunStatus] = {"interrupt": "interrupted", "cancelled": "cancelled", "unknown": "unknown"}
NEWEST_MINOR = 1  # 1.1 adds one opaque member, which we keep (B.5)


def describe(run: OpenRun, event: Event, *, thread_id: str) -> None:
    """What RUN_STARTED says of the run beside its id."""
    run.view.parent_run_id = event.body.get("parentRunId")
    run.view.protocol_version = version = event.body.get("protocolVersion")
    if run.view.thread_id != thread_id:
        run.notes.add("C-15", "warning", f"The run says that it is on the thread {excerpt(run.view.thread_id)}.")
    if version is not None and not _within(version):
        run.notes.add("C-32", "info", f"The agent speaks AG-UI {excerpt(version)}, which this version does not know.")


def _within(version: str) -> bool:
    """Not newer than what we know, compared as numbers (C-32)."""
    major, _, minor = version.partition(".")
    if not (major.isascii() and major.isdigit() and minor.isascii() and minor.isdigit()):
        return False
    return (len(major), major, len(minor), minor) <= (1, PROTOCOL_VERSION[0], 1, str(NEWEST_MINOR))


def finish(run: OpenRun, event: Event) -> list[Fact]:
    """RUN_FINISHED. Raises outcomes.Unreadable, having changed nothing."""
    view = run.view

    for name, ours in (("runId", view.run_id), ("threadId", view.thread_id)):
        if event.body.get(name, ours) != ours:
            text = f"RUN_FINISHED names another {name}: {excerpt(event.body[name])}"
            run.notes.add("C-15", "warning", text, f"/{name}")
    outcome = outcomes.read_outcome(event, run.notes.add)
    facts = run.finish()
    view.result, view.usage = event.source("result"), event.source("usage")
    view.pending_tool_call_ids = outcome.pending
    view.interrupts += outcome.interrupts
    if not view.ended:  # after a tolerated error the first end stands, with its questions
        view.outcome, view.status = outcome.kind, ENDINGS.get(outcome.kind, "succeeded")
    _note_strange_ids(run)
    _remember_calls(run)
    return [*facts, Paused(view) if outcome.kind == "interrupt" else Finished(view)]


def _note_strange_ids(run: OpenRun) -> None:
    """A suspended subagent may say which questions it waits for; those that nobody asks are ignored (U-4)."""
    asked = {interrupt.id for interrupt in run.view.interrupts}
    for agent in run.view.subagents.values():
        for id_ in [id_ for id_ in agent.interrupt_ids if id_ not in asked]:
            text = f"The subagent {excerpt(agent.name or agent.id)} waits for {excerpt(id_)}, which nothing asks."
            run.notes.add("U-4", "warning", text, "/outcome/interrupts")


def _remember_calls(run: OpenRun) -> None:
    """An interrupt may name a call of an earlier run, or one that only a snapshot told (C-37, G-6)."""
    for id_ in {interrupt.tool_call_id for interrupt in run.view.interrupts} - run.view.calls.keys():
        if id_ is None:
            continue
        told = run.history.received_calls.get(id_)
        if (earlier := run.calls.known.get(id_)) is not None:
            run.view.remembered[id_] = earlier
        elif told is not None:
            state = argument_state(told.args, told=True)
            run.view.remembered[id_] = CallView(id=id_, name=told.name, args=told.args, state=state)


def fail(run: OpenRun, event: Event) -> list[Fact]:
    """RUN_ERROR: closes everything by itself (C-10), and asks nothing."""
    view = run.view
    outcomes.warn_of_stray_interrupts(event, run.notes.add)
    facts = run.finish(quiet=True)
    view.status, view.error, view.error_code = "failed", event.body.get("message", ""), event.body.get("code")
    view.usage = event.source("usage")
    return [*facts, Failed(view, view.error or "", view.error_code)]


def quarantine(run: OpenRun, event: Event) -> list[Fact]:
    """After a rejection interrupts are only listed (C-29a)."""
    if event.type != "RUN_FINISHED":
        return []
    try:
        found = outcomes.read_outcome(event, lambda *_: None).interrupts
    except outcomes.Unreadable:
        return []
    for interrupt in found:
        interrupt.quarantined, interrupt.position = True, len(run.view.interrupts)
        run.view.interrupts.append(interrupt)
    return [Paused(run.view)] if found else []

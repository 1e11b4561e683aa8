"""The dictionary: the only file that speaks both vocabularies.

Inwards a pause becomes a case (`new_case`); outwards decisions become answers (`Decided`, `sending_of`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentbridge import dialects, flagging
from agentbridge.dialects.contract import Answered, Dialect, Pause, Sending
from agentbridge.models import Agent, Interrupt, Run, Thread
from agentbridge.wire import expiry
from agentbridge.wire.record import RunView
from agentbridge.wire.toolcalls import calls_in
from approvals import exhibits, intake, jsontext
from approvals.fields import text_of
from approvals.models import Case, Decision, Queue, Task, Verdict
from approvals.models.cases import last_moment


@dataclass(frozen=True, slots=True)
class Paused:
    """Everything a case is made of: the run as stored, the run as read, and how its dialect understands it."""

    run: Run
    view: RunView
    dialect: Dialect
    pauses: Sequence[Pause]
    messages: Sequence[str]
    state: str | None

    @property
    def agent(self) -> Agent:
        return self.run.thread.agent


def new_case(paused: Paused, *, previous: Case | None, asked_before: dict[str, Task]) -> intake.NewCase:
    """One case for all that this run asks; what makes it unanswerable is said in `blocked`."""
    thread: Thread = paused.run.thread
    flags = flagging.of_case(paused.view, paused.pauses)
    spoken = list(calls_in(paused.messages))
    return intake.NewCase(
        agent=paused.agent.slug,
        thread_key=thread.key,
        refs={"agent": paused.agent.slug, "threadId": thread.thread_id, "runId": paused.run.run_id},
        tasks=[new_task(paused, pause, asked_before=asked_before, spoken=spoken) for pause in paused.pauses],
        previous=previous,
        flags=flags,
        blocked=unanswerable(paused),
        quarantined=any(pause.interrupt.quarantined for pause in paused.pauses),
    )


def unanswerable(paused: Paused) -> str:
    """Why nothing can be sent for this pause whatever is decided; "" when something can."""
    if not paused.run.input:
        return "This run was not asked for with an input on record, so it cannot be resumed from here."
    if any(pause.interrupt.id is None for pause in paused.pauses):
        return "One of the questions has no usable id. A resume has to answer every question, so none can be sent."
    return ""


def new_task(
    paused: Paused, pause: Pause, *, asked_before: dict[str, Task], spoken: flagging.Spoken
) -> intake.NewTask:
    """`spoken`: the calls that the messages carry."""
    interrupt = pause.interrupt
    deadline = expiry.read_deadline(interrupt.expires_at) if interrupt.expires_at is not None else None
    before = asked_before.get(interrupt.id or "")
    kit = paused.dialect.kit(pause)
    flags = flagging.of_task(pause, deadline=deadline, spoken=spoken, asked_again=before)
    return intake.NewTask(
        refs={
            "agent": paused.agent.slug,
            "threadId": paused.run.thread.thread_id,
            "runId": paused.run.run_id,
            "interruptId": interrupt.id,
            "toolCallId": interrupt.tool_call_id,
            "gatedCallId": pause.call.id if pause.call else None,
            "subagentRunId": interrupt.subagent_run_id,
        },
        queue=queue_of(paused.agent, pause),
        exhibit=exhibit(paused, pause, flags),
        kit=kit,
        deadline=deadline.at if deadline else None,
        deadline_text=interrupt.expires_at or "",
        flags=flags,
        asked_before=before,
    )


def queue_of(agent: Agent, pause: Pause) -> Queue:
    """By tool name where the agent has a route for it, else the agent's own."""
    name = agent.routes.get(pause.call.name) if pause.call else None
    return (Queue.objects.filter(name=name).first() if name else None) or agent.queue


def exhibit(paused: Paused, pause: Pause, flags: list[dict[str, Any]]) -> exhibits.Content:
    """What the reviewer will see, frozen: arguments as streamed, never as a message says they are."""
    interrupt, call = pause.interrupt, pause.call
    return exhibits.Content(
        reason=interrupt.reason,
        message=interrupt.message,
        tool=tool_of(pause),
        tool_definition=tool_definition(paused.view, call.name) if call else None,
        response_schema=interrupt.response_schema or pause.schema,
        metadata=interrupt.metadata,
        messages=list(paused.messages),
        state=paused.state,
        deadline_text=interrupt.expires_at,
        asker=interrupt.subagent_run_id,
        agent_name=paused.agent.name,
        flags=flags,
    )


def tool_of(pause: Pause) -> exhibits.Tool | None:
    """The call that would run. A named call that no event told us about is still a call (T-63)."""
    call, named = pause.call, pause.interrupt.tool_call_id
    if call is not None:
        return exhibits.Tool(id=call.id, name=call.name, args_text=call.args, state=call.state)
    return exhibits.Tool(id=named, name="", args_text="", state="missing") if named is not None else None


def tool_definition(view: RunView, name: str) -> str | None:
    """The definition our own input gave for this tool: exact text, or None for the agent's own tools."""
    if view.input is None:
        return None
    for text in jsontext.items(view.input.tools):
        found = jsontext.loads(text)
        if isinstance(found, dict) and found.get("name") == name:
            return text
    return None


def refs_of(task: Task) -> dict[str, Any]:
    return dict(jsontext.loads(task.refs))


@dataclass(frozen=True, slots=True)
class Decided:
    """What a case asks and what is decided on it, read once for all who look at it in one step."""

    tasks: Sequence[Task]  # in interrupt order
    decisions: Mapping[int, Decision]  # the live one of a task
    asked: Mapping[int | None, Interrupt]  # of a task

    @classmethod
    def on(cls, case: Case) -> Decided:
        live = Decision.objects.filter(task__case=case, recalled_at=None, voided_at=None)
        return cls(
            tasks=list(Task.objects.filter(case=case).order_by("position")),
            decisions={decision.task_id: decision for decision in live},
            asked={interrupt.task_id: interrupt for interrupt in Interrupt.objects.filter(task__case=case)},
        )

    def gated_calls(self) -> set[str]:
        """Ids of the calls that the case is about."""
        found = (refs_of(task) for task in self.tasks)
        return {refs[name] for refs in found for name in ("toolCallId", "gatedCallId") if refs.get(name)}

    def answers(self, *, closing_at: datetime | None = None) -> list[Answered]:
        """The live decisions as answers, in interrupt order, one per distinct id (R-12).

        `closing_at`: an expired case is being closed at that moment; what was not decided, or whose own time had run
        out by then, is cancelled (R-27, R-29).
        """
        found: dict[str, Answered] = {}
        for task in self.tasks:
            decision, id_ = self.decisions.get(task.pk), refs_of(task).get("interruptId")
            if id_ is None or id_ in found:
                continue
            if decision is None and closing_at is None:
                continue
            late = closing_at is not None and is_late(task, closing_at)
            kept = decision if not late else None
            interrupt = self.asked.get(task.pk)
            found[id_] = Answered(
                interrupt_id=id_,
                verdict=kept.verdict if kept else Verdict.CANCELLED,
                answer=kept.answer if kept else None,
                legacy=bool(interrupt and interrupt.legacy),
                raw=interrupt.raw if interrupt else "",
            )
        return list(found.values())


def answered(case: Case, *, closing_at: datetime | None = None) -> list[Answered]:
    return Decided.on(case).answers(closing_at=closing_at)


def is_late(task: Task, at: datetime) -> bool:
    return task.deadline is not None and at >= last_moment(task.deadline)


def sending_of(run: Run, answers: Sequence[Answered]) -> Sending:
    """What the run's dialect sends: decisions never change once taken, so always the same bytes."""
    props = jsontext.member(text_of(run.input), "forwardedProps") or "{}"
    return dialects.get(run.dialect).send(answers, props)

"""Before bytes may leave: is this exactly what was reviewed, for exactly what is open? (issue 4, R-4, R-5, R-18)

Every check answers with the sentence that blocks the case, or with nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentbridge import dialects, translation
from agentbridge.models import Interrupt, Resume, Run
from agentbridge.outgoing import Outgoing
from agentbridge.toolcalls import answered_calls, calls_in, same_arguments
from approvals import exhibits, jsontext
from approvals.fields import text_of
from approvals.models import AuditEntry, Decision, Task

OTHER_ADDRESS = "The agent's address changed after the answers were sealed. An operator has to bind them to it again."


def problem(resume: Resume, draft: Outgoing) -> str | None:
    """The first reason why this resume must not be sent, as a sentence; None when there is none."""
    return next(_problems(resume, draft), None)


def _problems(resume: Resume, draft: Outgoing) -> Iterator[str]:
    yield from _agent_is_the_same(resume)
    yield from _newest_and_whole(resume)
    yield from _entries_are_the_decisions(resume)
    yield from _decisions_are_on_the_trail(resume)
    yield from _history_holds_the_reviewed_calls(resume, draft)
    yield from _no_frontend_call_is_open(resume, draft)


def _agent_is_the_same(resume: Resume) -> Iterator[str]:
    if resume.url_version != resume.agent.url_version:
        yield OTHER_ADDRESS


def _newest_and_whole(resume: Resume) -> Iterator[str]:
    run = resume.interrupted_run
    newest = Run.objects.filter(thread=resume.thread, interrupts__isnull=False).order_by("-pk").first()
    if newest is not None and newest.pk != run.pk:
        yield "A later run of this thread paused: only its questions can be answered now."
    asked = {i.interrupt_id for i in Interrupt.objects.filter(run=run)}
    covered = {answer.interrupt_id for answer in translation.answered(resume.case, closing_at=resume.closing_at)}
    if None in asked or asked != covered:
        yield "The answers do not cover every question of the interrupted run."


def _entries_are_the_decisions(resume: Resume) -> Iterator[str]:
    sending = translation.sending_of(resume.case, resume.interrupted_run, closing_at=resume.closing_at)
    if (sending.entries or "[]") != text_of(resume.entries):
        yield "The sealed answers are not the recorded decisions."


def _decisions_are_on_the_trail(resume: Resume) -> Iterator[str]:
    live = Decision.objects.filter(task__case=resume.case, recalled_at=None, voided_at=None)
    told = set(AuditEntry.objects.filter(case=resume.case, verb="task.decided").values_list("task_id", flat=True))
    if any(decision.task_id not in told for decision in live):
        yield "A decision has no entry in the trail."


def _history_holds_the_reviewed_calls(resume: Resume, draft: Outgoing) -> Iterator[str]:
    spoken = list(calls_in(draft.messages))
    strict = dialects.get(resume.interrupted_run.dialect).needs_history
    for task in Task.objects.filter(case=resume.case).order_by("position"):
        tool = exhibits.load(task.exhibits.order_by("-version")[0].body).tool
        if tool is None or not tool.id or tool.state == "missing":
            continue
        arguments = [text for id_, _name, text in spoken if id_ == tool.id]
        shown_both = any(flag.get("slug") == "conflicting-arguments" for flag in task.flags)
        if strict and not arguments:
            yield "The history that would be sent lacks the reviewed call, and this agent runs what the history says."
        if any(not same_arguments(text, tool.args_text) for text in arguments) and (strict or not shown_both):
            yield "The call in the history that would be sent is not the call that was reviewed."


def _no_frontend_call_is_open(resume: Resume, draft: Outgoing) -> Iterator[str]:
    """C-31: a call of a tool that our own input offered is answered by a message, never by us."""
    offered = {tool.get("name") for tool in jsontext.loads(draft.asked.tools) if isinstance(tool, dict)}
    gated = translation.gated_calls(resume.case)
    answered = answered_calls(draft.messages)
    names = [name for id_, name, _args in calls_in(draft.messages) if id_ not in answered | gated and name in offered]
    if names:
        yield f"The call of {names[0]} waits for its result from the application that offered it."


def warnings(resume: Resume, draft: Outgoing) -> list[str]:
    """What is worth a word on the attempt, and does not stop it."""
    spoken = {id_ for id_, _name, _args in calls_in(draft.messages)}
    absent = sorted(translation.gated_calls(resume.case) - spoken)
    return [f"The history sent does not hold the reviewed call {id_}." for id_ in absent]

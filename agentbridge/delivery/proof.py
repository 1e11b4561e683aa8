"""Before bytes may leave: is this exactly what was reviewed, for exactly what is open? (issue 4, R-4, R-5, R-18)

Every check answers with the sentence that blocks the case, or with nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import Exists, OuterRef, Q

from agentbridge import dialects, trail, translation
from agentbridge.delivery import receipts
from agentbridge.delivery.outgoing import Outgoing
from agentbridge.dialects.contract import Answered
from agentbridge.models import Interrupt, Resume, Run
from agentbridge.translation import Decided
from agentbridge.wire.toolcalls import answered_calls, calls_in, same_arguments
from approvals import exhibits, jsontext
from approvals.fields import text_of
from approvals.models import AuditEntry, Decision, Verdict

CONFLICTS = ("conflicting-arguments", "conflicting-tool")  # flags under which a reviewer saw both
OTHER_ADDRESS = "The agent's address changed after the answers were sealed. An operator has to bind them to it again."


def problem(resume: Resume, draft: Outgoing, decided: Decided) -> str | None:
    """The first reason why this resume must not be sent, as a sentence; None when there is none."""
    return next(_problems(resume, draft, decided), None)


def _problems(resume: Resume, draft: Outgoing, decided: Decided) -> Iterator[str]:
    answers = decided.answers(closing_at=resume.closing_at)
    yield from _agent_is_the_same(resume)
    yield from _newest_and_whole(resume, {answer.interrupt_id for answer in answers})
    yield from _nothing_came_between(resume)
    yield from _sealed_is_what_was_decided(resume, answers)
    yield from _body_carries_what_was_sealed(resume, draft)
    yield from _decisions_were_in_time_and_are_on_the_trail(resume, decided)
    yield from _history_holds_the_reviewed_calls(resume, draft, decided)
    yield from _no_frontend_call_is_open(draft, decided.gated_calls())


def _agent_is_the_same(resume: Resume) -> Iterator[str]:
    if resume.url_version != resume.agent.url_version:
        yield OTHER_ADDRESS


def _newest_and_whole(resume: Resume, covered: set[str]) -> Iterator[str]:
    run = resume.interrupted_run
    paused = Run.objects.filter(thread=resume.thread, interrupts__isnull=False).order_by("-pk")
    newest = paused.values_list("pk", flat=True).first()
    if newest is not None and newest != run.pk:
        yield "A later run of this thread paused: only its questions can be answered now."
    asked = set(Interrupt.objects.filter(run=run).values_list("interrupt_id", flat=True))
    if None in asked or asked != covered:
        yield "The answers do not cover every question of the interrupted run."


def moved_on(resume: Resume) -> bool:
    """A later run of the thread is known: the same answers could now mean something else."""
    return Resume.objects.filter(LATER_RUN, pk=resume.pk).exists()


LATER_RUN = Exists(
    Run.objects.filter(thread=OuterRef("thread"), pk__gt=OuterRef("interrupted_run"))
    .filter(~Q(resume=OuterRef("pk")) | Q(resume=None))
    .exclude(status=Run.Status.UNSENT)
)


def _nothing_came_between(resume: Resume) -> Iterator[str]:
    """Before a second sending: since a person allowed it, the thread may have gone on."""
    if resume.armed_once and moved_on(resume):
        yield "The thread has moved on since these answers were first sent: they would meet another question."


def _sealed_is_what_was_decided(resume: Resume, answers: Sequence[Answered]) -> Iterator[str]:
    if trail.sha256(resume.sealed) != resume.sha256:
        yield "The sealed answers are not the bytes that were sealed."
    sending = translation.sending_of(resume.interrupted_run, answers)
    # Each part by itself: the digest is over all three, and would not see bytes that moved from one to the next.
    sealed = (bytes(resume.entries), bytes(resume.forwarded_props), bytes(resume.messages))
    if receipts.along(sending, resume.signature) != sealed:
        yield "The sealed answers are not the recorded decisions."


def _body_carries_what_was_sealed(resume: Resume, draft: Outgoing) -> Iterator[str]:
    """In the members where an agent looks for answers stands what was sealed, and nothing else."""
    sent = jsontext.members(draft.body.decode("utf-8", "surrogatepass"))
    if sent.get("resume", "[]") != (text_of(resume.entries) or "[]"):
        yield "The input that would be sent does not hold the sealed answers."
    if resume.forwarded_props and sent.get("forwardedProps") != text_of(resume.forwarded_props):
        yield "The input that would be sent holds other forwardedProps than were sealed."


def _decisions_were_in_time_and_are_on_the_trail(resume: Resume, decided: Decided) -> Iterator[str]:
    """An entry is written only with the rights of that moment, so its actor and content prove the decider's right."""
    entries = AuditEntry.objects.filter(case=resume.case, verb="task.decided").order_by("seq")
    told = {entry.task_id: entry for entry in entries}
    deadlines = {task.pk: task.deadline for task in decided.tasks}
    for decision in decided.decisions.values():
        entry, deadline = told.get(decision.task_id), deadlines[decision.task_id]
        if entry is None:
            yield "A decision has no entry in the trail."
        elif entry.actor_id != decision.by_id or not _tells(entry, decision):
            yield "A decision is not what its entry in the trail says."
        if decision.verdict != Verdict.CANCELLED and deadline is not None and decision.at >= deadline:
            yield "A decision was made after its deadline."


def _tells(entry: AuditEntry, decision: Decision) -> bool:
    """The entry's words beside the decision; erased words contradict nothing."""
    if entry.data is None:
        return True
    said = jsontext.loads(entry.data)
    kept = {"verdict": decision.verdict, "answer": decision.answer, "shownDigest": decision.shown_digest}
    return all(said.get(name) == value for name, value in kept.items())


def _history_holds_the_reviewed_calls(resume: Resume, draft: Outgoing, decided: Decided) -> Iterator[str]:
    spoken = list(calls_in(draft.messages))
    strict = dialects.get(resume.interrupted_run.dialect).needs_history
    for task in decided.tasks:
        tool = exhibits.load(task.exhibits.order_by("-version")[0].body).tool
        if tool is None or not tool.id or tool.state == "missing":
            continue
        told = [(name, text) for id_, name, text in spoken if id_ == tool.id]
        shown_both = any(flag.get("slug") in CONFLICTS for flag in task.flags)
        if strict and not told:
            yield "The history that would be sent lacks the reviewed call, and this agent runs what the history says."
        if not all(_is_reviewed(tool, name, text) for name, text in told) and (strict or not shown_both):
            yield "The call in the history that would be sent is not the call that was reviewed."


def _is_reviewed(tool: exhibits.Tool, name: str, args: str) -> bool:
    """A call that came without a name is known by its arguments only."""
    return tool.name in ("", name) and same_arguments(args, tool.args_text)


def _no_frontend_call_is_open(draft: Outgoing, gated: set[str]) -> Iterator[str]:
    """C-31: a call of a tool that our own input offered is answered by a message, never by us."""
    offered = {tool.get("name") for tool in jsontext.loads(draft.asked.tools) if isinstance(tool, dict)}
    answered = answered_calls(draft.messages)
    names = [name for id_, name, _args in calls_in(draft.messages) if id_ not in answered | gated and name in offered]
    if names:
        yield f"The call of {names[0]} waits for its result from the application that offered it."


def warnings(draft: Outgoing, decided: Decided) -> list[str]:
    """What is worth a word on the attempt, and does not stop it."""
    absent = decided.gated_calls() - {id_ for id_, _name, _args in calls_in(draft.messages)}
    return [f"The history sent does not hold the reviewed call {id_}." for id_ in sorted(absent)]

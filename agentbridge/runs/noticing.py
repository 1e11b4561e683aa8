"""What a stream says beside the end of our run: results, late errors, other runs, calls that turn out different."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.db import transaction

from agentbridge import trail, translation
from agentbridge.delivery import incidents, watch
from agentbridge.dialects.contract import flag
from agentbridge.models import Incident, Interrupt, Resume, Run
from agentbridge.models.agents import key_of
from agentbridge.runs import concluding, opening
from agentbridge.wire import protocol
from agentbridge.wire.reading import Reader
from agentbridge.wire.record import ENDS, Echo, Fact, LateError, ResultView, RunView
from agentbridge.wire.toolcalls import same_arguments
from approvals import exhibits, intake, jsontext, locking, reviewing
from approvals.models import Case, Task
from approvals.models.cases import EndedBecause, State, Verdict

# T-80: before it paused, the agent itself says that the call waits; that is a result by name only.
INTERIM = re.compile(r"confirm|approv|pending|wait|require|not (run|executed)", re.I)


def results(run: Run, view: RunView, found: Sequence[ResultView], *, now: datetime) -> None:
    """Link results to the tasks of their calls, whichever run of the thread they come in; once, also when read again.

    All of one call together: one by one, each would cost reading and writing all that came before it.
    """
    for call_id, latest in {each.tool_call_id: each for each in found}.items():
        task = task_of_call(run, call_id)
        if task is None:
            continue
        mine = [each for each in view.results if each.tool_call_id == call_id]
        mine = mine[: next(n for n, each in enumerate(mine, start=1) if each is latest)]
        known = Task.objects.values_list("results", flat=True).get(pk=task.pk)
        if kept(known, run) < len(mine):  # asked before anybody has to wait for us: a result may be 10 MB
            _keep(task, run, mine, now=now)


def kept(results: str | None, run: Run) -> int:
    """How many results of this run are on a task already."""
    return sum(each["runId"] == run.run_id for each in jsontext.loads(results or "[]"))


@transaction.atomic
def _keep(task: Task, run: Run, mine: Sequence[ResultView], *, now: datetime) -> None:
    """Those that are not on the task yet; they are kept in the order in which they came.

    Counted under the lock: a sweep may read the same stream again beside the worker that still reads it.
    """
    _case, task = locking.locked(task)
    fresh = mine[kept(task.results, run) :]
    if not fresh:
        return
    at = stamp(now)
    told = [{"runId": run.run_id, "toolCallId": each.tool_call_id, "text": each.text, "at": at} for each in fresh]
    reviewing.record_results(task, results=told, now=now)
    if run.resume is not None and run.resume.case_id == task.case_id:
        return
    is_first = is_owed(task)  # as it was before these
    if is_first:
        reviewing.conclude(task, sentence="Accepted; the result came in a later run of the thread.", now=now)
    interim = run.pk == asking_run(task)
    others = fresh[1:] if is_first else fresh
    if any(not (interim and INTERIM.search(each.text, 0, watch.NOTICE)) for each in others):
        sentence = "A result came in a run that does not carry our answer: it was executed without approval from here."
        reviewing.add_flag(task, flag=flag("executed-without-approval", sentence), now=now)


def is_owed(task: Task) -> bool:
    """Did the agent take an approval of this call, and say nothing of it since? It may run it a round later (K-6)."""
    asked_in = Run.objects.filter(interrupts__task=task).values_list("run_id", flat=True)
    if any(each["runId"] not in asked_in for each in jsontext.loads(task.results or "[]")):
        return False
    taken = Case.objects.filter(pk=task.case_id, state=State.DELIVERED).exists()
    return taken and task.decisions.live().filter(verdict__in=(Verdict.APPROVED, Verdict.ANSWERED)).exists()


def stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def task_of_call(run: Run, tool_call_id: str) -> Task | None:
    """The newest question about this call on the run's thread; for a resumed run, its own case's first.

    A later run asks about later calls, whatever their ids: an old stream that is read again knows nothing of them.
    """
    thread = run.thread
    later = Interrupt.objects.filter(run__thread=thread, run__gt=run.pk, task__isnull=False)
    asked = Task.objects.filter(agent=thread.agent.slug, thread_key=thread.key).exclude(pk__in=later.values("task"))
    tasks = asked.defer("results").select_related("case").order_by("-pk")
    about = [task for task in tasks if tool_call_id in names_of(task)]
    own = [task for task in about if run.resume is not None and task.case_id == run.resume.case_id]
    return next(iter(own or about), None)


def names_of(task: Task) -> tuple[str | None, ...]:
    refs = translation.refs_of(task)
    return (refs.get("toolCallId"), refs.get("gatedCallId"))


@transaction.atomic
def late_error(run: Run, fact: LateError, *, now: datetime) -> None:
    """Class J: the end that was written stays; the error is told, flagged and an incident."""
    opening.hold(run.thread)
    fresh = Run.objects.select_for_update(of=("self",), no_key=True).select_related("thread__agent").get(pk=run.pk)
    if fresh.answer_class == "J":
        return
    said = f"{fact.message} ({fact.code})" if fact.code else fact.message
    told = {"answer_class": "J", "error": fresh.error or said, "error_code": concluding.column(fact.code, 200)}
    Run.objects.filter(pk=run.pk).update(**told)
    case = Case.objects.filter(resumes=run.resume_id).first() if run.resume_id else case_of(fresh)
    sentence = f"After its end the run reported an error: {said}"
    trail.of_run("run.erred_late", sentence, run=fresh, case=case, now=now)
    Resume.objects.filter(attempts=fresh).update(answer_class="J")
    if case is None:
        return
    incidents.open_one(case, Incident.Kind.LATE_ERROR, sentence, run=fresh, now=now)
    asked = case_of(fresh)
    for task in asked.tasks.all() if asked else ():
        warning = flag("error-after-the-pause", f"After it paused, the agent reported an error: {said}")
        reviewing.add_flag(task, flag=warning, now=now)


def case_of(run: Run) -> Case | None:
    """The case that this run's questions opened."""
    return Case.objects.filter(tasks__in=Task.objects.filter(pk__in=run.interrupts.values("task"))).first()


def other_run(carrier: Run, fact: Fact, *, now: datetime) -> None:
    """A run in our answer that we did not ask for: kept by name; an echoed resume shows an answer from elsewhere."""
    if isinstance(fact, Echo):
        answered_elsewhere(carrier, fact, now=now)
    elif isinstance(fact, ENDS) and not fact.run.known:
        observe(carrier, fact.run, now=now)


@transaction.atomic
def observe(carrier: Run, view: RunView, *, now: datetime) -> None:
    """H-4: seen in a stream, asked for by nobody here. It closes nothing."""
    thread, key = carrier.thread, key_of(view.run_id)
    run, is_new = Run.objects.get_or_create(thread=thread, key=key, defaults={
        "run_id": view.run_id, "kind": Run.Kind.OBSERVED, "status": Run.Status.RUNNING, "created_at": now,
        "input": echoed_input(view), **concluding.stated(view),
    })  # fmt: skip
    if not is_new:
        return
    sentence = f"A run that nobody here asked for was seen in the answer to {carrier.run_id}."
    trail.of_run("run.observed", sentence, run=run, data={"status": view.status, "in": carrier.run_id}, now=now)
    concluding.write_seen(run, view, now=now)


def echoed_input(view: RunView) -> bytes:
    """What asked for it, as its own RUN_STARTED says; without that a pause of it cannot be answered from here."""
    asked = view.input
    if asked is None or not asked.thread_id:
        return b""
    return protocol.run_input(
        thread_id=asked.thread_id, run_id=asked.run_id, messages=asked.messages, state=asked.state, tools=asked.tools,
        context=asked.context, forwarded_props=asked.forwarded_props, resume=asked.resume,
        protocol_version=asked.protocol_version,
    )  # fmt: skip


def answered_elsewhere(carrier: Run, fact: Echo, *, now: datetime) -> None:
    """T-85, H-5: somebody else's resume names our open questions; nobody here has to answer them any more."""
    if fact.run.known:
        return
    entries = jsontext.loads(fact.resume)
    listed = entries if isinstance(entries, list) else []
    ids = {entry.get("interruptId") for entry in listed if isinstance(entry, dict)}
    case = opening.waiting_case(carrier)
    if case is None or case.taken_at is not None:
        return
    if any(translation.refs_of(task).get("interruptId") in ids for task in case.tasks.all()):
        reviewing.withdraw(case, because=EndedBecause.ANSWERED_ELSEWHERE, now=now)


def last_words(run: Run, reader: Reader, *, now: datetime) -> None:
    """The body is over: the warnings and calls as they stand now, and replayed pauses that wait for somebody (T-88)."""
    view = next((each for each in reader.runs if each.ours), None)
    if view is not None:
        concluding.refresh(run, view, received=reader.bytes)
        changed_calls(run, view, now=now)
    last = reader.runs[-1] if reader.runs else None
    unknown = last is not None and not last.ours and not last.known
    if last is not None and unknown and last.interrupts and not opening.moved_on(run):
        seen = Run.objects.select_related("thread__agent").get(thread=run.thread, key=key_of(last.run_id))
        concluding.open_seen(seen, last, now=now)


def changed_calls(run: Run, view: RunView, *, now: datetime) -> None:
    """A call that waits for an answer turned up again with other arguments: a second frozen version, the first kept."""
    case = None if run.kind == Run.Kind.RESUMED else opening.waiting_case(run)
    if case is None:
        return
    for task in case.tasks.all():
        call = view.calls.get(translation.refs_of(task).get("gatedCallId") or "")
        if call is None:
            continue
        shown = exhibits.load(task.exhibits.order_by("-version")[0].body)
        other = call.args if run.pk != asking_run(task) else call.conflict
        if other is None or shown.tool is None or same_arguments(shown.tool.args_text, other):
            continue
        warning = flag("conflicting-arguments", f"Conflicting arguments: before, this call was {shown.tool.args_text}")
        grown = replace(shown, tool=replace(shown.tool, args_text=other), flags=[*shown.flags, warning])
        _change(task, grown, run=run, now=now)


@transaction.atomic
def _change(task: Task, grown: exhibits.Content, *, run: Run, now: datetime) -> None:
    """The second version, once; and the incident that it is where the answers were sealed: both or neither."""
    case, task = locking.locked(task)
    if any(each["slug"] == "conflicting-arguments" for each in task.flags):
        return
    intake.refreeze(task, grown, now=now)
    if case.taken_at is not None:
        text = "After the answers were sealed, the call turned out to have other arguments."
        incidents.open_one(case, Incident.Kind.OTHER_ARGUMENTS, text, task=task, run=run, now=now)


def asking_run(task: Task) -> int | None:
    """The run whose pause this task answers."""
    return Run.objects.filter(interrupts__task=task).values_list("pk", flat=True).first()

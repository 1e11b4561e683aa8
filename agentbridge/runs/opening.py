"""From a paused run to the case that asks for it, and what a run's end means for older questions of its thread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import replace
from datetime import datetime

from django.conf import settings
from django.db.models import OuterRef, Subquery

from agentbridge import flagging, translation
from agentbridge.delivery import outgoing
from agentbridge.dialects.contract import Dialect, Pause, flag
from agentbridge.models import DeliveryState, Interrupt, Resume, Run, Thread
from agentbridge.wire import protocol
from agentbridge.wire.record import RunView
from agentbridge.wire.saying import words_of_users
from agentbridge.wire.toolcalls import same_arguments
from approvals import exhibits, intake, jsontext, locking, reviewing
from approvals.fields import text_of
from approvals.models import Case, Task
from approvals.models.cases import EndedBecause, State
from approvals.prepared import Prepared, slot

NO_MORE = "An agent that asks without end is not answered any more: an operator abandons the case."
# A case is opened in one transaction and answered as a whole: nobody could, and everybody would wait meanwhile.
MOST = 1000
SHOWN_OF_MORE = 20
INPUTS_READ = 20  # of a longer conversation nothing is said
newest_cases = Prepared(lambda: Case.objects.filter(agent=slot("agent"), thread_key=slot("key")).order_by("-pk")[:1])
WAITING = (State.OPEN, State.SETTLED, State.QUARANTINED)


def open_case(run: Run, view: RunView, dialect: Dialect, pauses: Sequence[Pause], *, now: datetime) -> Case:
    """The next case of the thread. Older questions that nobody has sent an answer to are superseded (K-8)."""
    previous = newest_case(run.thread)
    is_flood = len(pauses) > MOST
    pauses = pauses[:SHOWN_OF_MORE] if is_flood else pauses
    left = outgoing.Snapshot.of(run)
    paused = translation.Paused(
        run=run, view=view, dialect=dialect, pauses=pauses, messages=left.messages, state=left.state
    )
    new = translation.new_case(paused, previous=previous, asked_before=asked_before(run.thread, pauses))
    new = replace(new, flags=[*new.flags, *flagging.of_history(words_from_elsewhere(run, left.messages))])
    if rounds(run.thread) > settings.THREAD_ROUNDS and not new.blocked:
        new = replace(new, blocked=f"This thread has paused more than {settings.THREAD_ROUNDS} times. {NO_MORE}")
    if is_flood:
        new = replace(new, blocked=f"This run asks more than {MOST} questions at once. {NO_MORE}")
    if previous is not None and not new.quarantined:
        supersede(previous, now=now)
    case = intake.open_case(new, now=now)
    asking = Task.objects.filter(case=case, position=OuterRef("position"))
    run.interrupts.filter(position__lt=len(pauses)).update(task=Subquery(asking.values("pk")[:1]))
    return case


def words_from_elsewhere(run: Run, messages: Sequence[str]) -> list[str]:
    """What users say in the history a run left behind, and no input on record has: nobody sent it by this desk (C-29).

    Our own resumes prove nothing: they send such a history back.
    """
    found = list(words_of_users(messages)) if run.input else []
    if run.kind != Run.Kind.RESUMED:
        found = without(found, said_in(run))  # mostly that is all of it
    others = run.thread.runs.exclude(pk=run.pk).exclude(kind=Run.Kind.RESUMED)
    if found and (others.filter(input=b"").exists() or others.count() > INPUTS_READ):
        return []  # it may stand in what was erased, or lies too far back
    for pk in others.order_by("-pk").values_list("pk", flat=True) if found else ():
        found = without(found, said_in(Run.objects.only("input").get(pk=pk)))
        if not found:
            break
    for spoken in Resume.objects.filter(thread=run.thread).exclude(messages=b"") if found else ():
        found = without(found, set(words_of_users(jsontext.items(text_of(spoken.messages)))))
    return found


def without(words: Sequence[str], known: Container[str]) -> list[str]:
    return [each for each in words if each and each not in known]


def said_in(run: Run) -> set[str]:
    try:
        return set(words_of_users(outgoing.asked_input(run).messages))
    except protocol.ProtocolError:
        return set()


def rounds(thread: Thread) -> int:
    """How many runs of this thread paused so far."""
    return Run.objects.filter(thread=thread, interrupts__isnull=False).distinct().count()


def hold(thread: Thread) -> None:
    """Lock the thread's newest case before the first entry is written: the end of the trail is always locked last."""
    newest = newest_case(thread)
    if newest is not None:
        locking.locked_case(newest)


def newest_case(thread: Thread) -> Case | None:
    return newest_cases.first(agent=thread.agent.slug, key=thread.key)


def waiting_case(run: Run) -> Case | None:
    """What waits on its thread and this run may have news of."""
    case = newest_case(run.thread)
    return None if case is None or case.state not in WAITING or moved_on(run) else case


def moved_on(run: Run) -> bool:
    """Has a later run of its thread asked something? An old stream that is read again is no news of that."""
    return Interrupt.objects.filter(run__thread=run.thread_id, run__gt=run.pk).exists()


def asked_before(thread: Thread, pauses: Sequence[Pause]) -> dict[str, Task]:
    """K-4: the same id, or the same call with equal arguments, was a question of this thread before."""
    earlier = Task.objects.filter(agent=thread.agent.slug, thread_key=thread.key).order_by("pk")
    asking, calling = {pause.interrupt.id for pause in pauses} - {None}, defaultdict[str, list[Pause]](list)
    for pause in pauses:
        if pause.call is not None:
            calling[pause.call.id].append(pause)
    found: dict[str, Task] = {}
    for task in earlier:
        refs = translation.refs_of(task)
        if refs.get("interruptId") in asking:
            found[refs["interruptId"]] = task
        for pause in calling.get(refs.get("gatedCallId") or "", ()):
            if pause.interrupt.id is not None and is_same_call(task, pause):
                found[pause.interrupt.id] = task
    return found


def is_same_call(task: Task, pause: Pause) -> bool:
    """Of a call that has the id of the task's."""
    tool = exhibits.load(task.exhibits.order_by("-version")[0].body).tool
    return tool is not None and pause.call is not None and same_arguments(tool.args_text, pause.call.args)


def supersede(case: Case, *, now: datetime) -> None:
    """A later run asked again. Where bytes may have left, a person still has to say what became of them."""
    sent = Resume.objects.filter(case=case, armed_once=True, replaced_at=None).exclude(state=DeliveryState.READY)
    if case.state in WAITING and not sent.exists():
        reviewing.withdraw(case, because=EndedBecause.SUPERSEDED, now=now)


def notice_end(run: Run, *, now: datetime) -> None:
    """T-86, S-3: a success that we did not cause closes nothing; it is flagged, and an operator decides."""
    if run.status != Run.Status.SUCCEEDED or run.kind == Run.Kind.RESUMED:
        return
    case = waiting_case(run)
    if case is None:
        return
    said = flag("closed-by-agent", "Closed by the agent without our answer: a later run of this thread finished.")
    for task in case.tasks.all():
        reviewing.add_flag(task, flag=said, now=now)

"""Answers that a caller gives to a pause, where its agent lets callers decide: through the gate of a reviewer's.

Only the answers count. They are decided, sealed under the caller's `runId` and delivered by the bridge like any others;
what else the request holds is not passed on, because the desk sends what was reviewed and nothing beside it (X-11).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from agentbridge import trail, translation
from agentbridge.delivery import outgoing, sealing
from agentbridge.models import Agent, Resume, Run, Thread
from agentbridge.models.agents import key_of
from agentbridge.runs import starting
from agentbridge.ways import admission
from agentbridge.ways.entries import CANCELLED, Entry, read
from agentbridge.wire.record import RunInput
from approvals import acting, audit, exhibits, jsontext, reviewing
from approvals.kit import VerdictKit
from approvals.models import Case, Decision, Task, Verdict
from approvals.models.cases import State
from approvals.schemas import Problem
from approvals.verbs import answering
from approvals.verbs.answering import Given

NEWEST = 50  # cases of a thread that a late caller may still ask about


def answered(agent: Agent, body: bytes, *, now: datetime) -> Case | None:
    """Take the answers of a request; the case whose recorded run is what the caller gets. None: it answers nothing.

    The same answers again change nothing. Raises ProtocolError, ThreadOpen when a question is left out, and what
    `reviewing.decide` raises; AlreadyDecided for other answers than those that were given.
    """
    asked = admission.read(body)
    entries = read(asked.resume or "[]")
    thread = Thread.objects.select_related("agent").filter(agent=agent, key=key_of(asked.thread_id)).first()
    case = _asked_in(thread, entries) if thread is not None and entries else None
    if case is None:
        return None
    starting.check_agent(agent)
    try:
        _take(case, entries, asked, body, now=now)
    except reviewing.Refused as refused:
        said = f"A caller tried to answer {case.code} and was refused: {refused.code}."
        audit.record("case.refused", said, case=case, data={"code": refused.code, "runId": asked.run_id}, now=now)
        raise
    return case


def _take(case: Case, entries: Sequence[Entry], asked: RunInput, body: bytes, *, now: datetime) -> None:
    """The answers are decided now, or were the same before."""
    try:
        if case.state == State.OPEN:
            _decide(case, entries, asked, body, now=now)
            return
    except (reviewing.AlreadyDecided, starting.RunKnown):  # also by the same caller, at the same moment
        case.refresh_from_db()
        if case.state == State.OPEN:  # a reviewer has answered some of it: the rest is theirs too
            raise
    _check_same(case, entries)


def _asked_in(thread: Thread, entries: Sequence[Entry]) -> Case | None:
    """The newest case that asks one of these questions."""
    ids = {entry.interrupt_id for entry in entries}
    for case in Case.objects.filter(agent=thread.agent.slug, thread_key=thread.key).order_by("-pk")[:NEWEST]:
        if ids & {_id_of(task) for task in case.tasks.all()}:
            return case
    return None


def _id_of(task: Task) -> str | None:
    id_: str | None = translation.refs_of(task).get("interruptId")
    return id_


@transaction.atomic
def _decide(case: Case, entries: Sequence[Entry], asked: RunInput, body: bytes, *, now: datetime) -> None:
    """All of the case in one commit, sealed at once: what a program sent is not taken back."""
    run = sealing.interrupted_run(case)
    tasks = list(case.tasks.order_by("position"))
    by_id = _covering(case, tasks, entries)
    if run is None or Run.objects.filter(thread__agent=run.thread.agent, key=key_of(asked.run_id)).exists():
        raise starting.RunKnown(_("This agent has a run of that id already."))
    with acting.by("token"):
        for task in tasks:
            _decide_one(task, by_id[_id_of(task) or ""], now=now)
    reviewing.take(case, now=now)
    resume = sealing.write(case, run, n=1, now=now)
    Resume.objects.filter(pk=resume.pk).update(next_run_id=asked.run_id)
    said = f"A caller of {run.thread.agent.name} gave these answers; only they are passed on."
    data = {"runId": asked.run_id, "inputSha256": trail.sha256(body), "leftOut": left_out(asked, entries, run)}
    trail.of_resume("resume.asked", said, resume=resume, run=run, data=data, now=now)


def _covering(case: Case, tasks: Sequence[Task], entries: Sequence[Entry]) -> dict[str, Entry]:
    """Every question once and nothing else (R-4 to R-6)."""
    by_id = {entry.interrupt_id: entry for entry in entries}
    ids = [_id_of(task) for task in tasks]
    if None in ids or not by_id.keys() >= set(ids):
        raise starting.ThreadOpen([id_ for id_ in dict.fromkeys(ids) if id_ is not None], [case.code])
    wrong = [entry for entry in entries if entry.interrupt_id not in ids or by_id[entry.interrupt_id] is not entry]
    if wrong:
        text = _("Nothing asks this here, or it is answered twice.")
        raise reviewing.Invalid([Problem(f"{entry.pointer}/interruptId", text) for entry in wrong])
    return by_id


def _decide_one(task: Task, entry: Entry, *, now: datetime) -> None:
    try:
        reviewing.decide(
            task, by=None, by_kind=Decision.ByKind.CALLER, verdict=entry.verdict, input=entry.payload,
            shown_digest=task.shown_digest, now=now,
        )  # fmt: skip
    except reviewing.Invalid as invalid:
        problems = [Problem(entry.place(found.pointer), found.message) for found in invalid.problems]
        raise reviewing.Invalid(problems, invalid.code) from None


def _check_same(case: Case, entries: Sequence[Entry]) -> None:
    """Raises AlreadyDecided, naming a decision that says otherwise; WrongState where nobody decided."""
    tasks = list(case.tasks.order_by("position"))
    made = Decision.objects.live().filter(task__case=case).select_related("by", "task__queue")
    live = {each.task_id: each for each in made}
    if len(live) < len(tasks):
        raise reviewing.WrongState(_("These questions are not open: %s.") % case.get_state_display())
    by_id = _covering(case, tasks, entries)
    for task in tasks:
        if not _says_the_same(live[task.pk], by_id[_id_of(task) or ""]):
            raise reviewing.AlreadyDecided(live[task.pk])


def _says_the_same(decision: Decision, entry: Entry) -> bool:
    """Rule 5: status and payload, as the kit understands them, and nothing else."""
    if entry.status == CANCELLED or decision.verdict == Verdict.CANCELLED:
        return entry.status == CANCELLED and decision.verdict == Verdict.CANCELLED
    sent = decision.answer or "null"
    if jsontext.same(entry.payload or "null", sent):
        return True
    task, given = decision.task, Given(verdict=entry.verdict, input=entry.payload)
    shown = exhibits.load(task.body_of(decision.shown_digest))
    try:
        meant = answering.prepare(given, kit=VerdictKit.from_json(task.kit), exhibit=shown, queue=task.queue)
    except reviewing.Invalid:
        return False
    return jsontext.same(meant.answer or "null", sent)


def left_out(asked: RunInput, entries: Sequence[Entry], run: Run) -> list[str]:
    """What the request says beside its answers that the desk's own record does not say."""
    known, left = outgoing.asked_input(run), outgoing.Snapshot.of(run)
    pairs = {
        "state": (asked.state, left.state), "tools": (asked.tools, known.tools),
        "context": (asked.context, known.context), "forwardedProps": (asked.forwarded_props, known.forwarded_props),
    }  # fmt: skip
    names = [name for name, (ours, theirs) in pairs.items() if not jsontext.same(ours or "null", theirs or "null")]
    ids = {jsontext.member(text, "id") for text in left.messages}
    new = any(jsontext.member(text, "id") not in ids for text in asked.messages)
    return [*(["messages"] if new else []), *names, *(name for entry in entries for name in entry.others)]

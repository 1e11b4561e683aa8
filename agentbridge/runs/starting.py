"""Asking for a run: only a row is written, the bridge alone connects. Refused on a paused or busy thread (R-6)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime

from django.db import IntegrityError, connection, transaction
from django.utils.translation import gettext as _

from agentbridge import trail, translation, visibility
from agentbridge.models import Agent, Run, Thread
from agentbridge.models.agents import key_of
from agentbridge.runs import opening
from agentbridge.wire import protocol
from approvals import jsontext, locking, permissions
from approvals.models import Case, Task, User
from approvals.models.people import Role
from approvals.prepared import Addition, Prepared, slot
from approvals.refusals import NotAllowed, Refused

enabled_agents = Prepared(lambda: Agent.objects.filter(pk=slot("agent"), enabled=True).values_list("pk"))
threads_locked = Prepared(
    lambda: Thread.objects.select_for_update(no_key=True).filter(agent=slot("agent"), key=slot("key"))
)
runs_known = Prepared(lambda: Run.objects.filter(thread__agent=slot("agent"), key=slot("key")).values_list("pk")[:1])
runs_in_flight = Prepared(
    lambda: Run.objects.in_flight().filter(thread=slot("thread")).exclude(kind=Run.Kind.OBSERVED).values_list("pk")[:1]
)
new_threads = Addition(Thread)
DEFAULTS = {"state": "{}", "tools": "[]", "context": "[]", "forwardedProps": "{}"}


class ThreadOpen(Refused):
    """The thread is paused: `ids` are the interrupts that wait, `cases` their cases' codes."""

    code = "thread_open"

    def __init__(self, ids: Sequence[str], cases: Sequence[str]) -> None:
        named = ", ".join(ids) or _("without an id")
        super().__init__(_("This thread is paused and waits for answers first: %(ids)s.") % {"ids": named})
        self.ids, self.cases = list(ids), list(cases)


class ThreadBusy(Refused):
    """A run of this thread has not ended yet."""

    code = "thread_busy"


class RunKnown(Refused):
    """This agent has a run of that id already (R-2)."""


class AgentOff(Refused):
    """The agent is switched off."""

    def __init__(self) -> None:
        super().__init__(_("This agent is switched off."))


def start(agent: Agent, *, thread_id: str | None = None, run_id: str | None = None, run_input_text: str | None = None,
          message: str | None = None, by: User | None, now: datetime) -> Run:
    """Queue a first run; `by` None: from the shell. Given members go out byte for byte; what is missing is made.

    Raises `protocol.ProtocolError` for what is no RunAgentInput, and the refusals above.
    """  # fmt: skip
    text = complete(run_input_text or "{}", thread_id=thread_id, run_id=run_id, message=message)
    asked = protocol.read_input(text)
    if asked.resume is not None:
        raise protocol.ProtocolError("resume", _("Answers go through the desk: a run started here has no resume."))
    try:
        with transaction.atomic():
            check_agent(agent)
            if by is not None:
                check_person(agent, locking.locked_person(by))
            thread = free_thread(agent, asked.thread_id)
            check_run_id(agent, asked.run_id)
            return _queue(thread, asked.run_id, sendable(text, agent), by=by, now=now)
    except IntegrityError as lost:  # two starts at once: the unique index lets one through
        raise ThreadBusy(_("Another run of this thread has just been started.")) from lost


def complete(text: str, *, thread_id: str | None, run_id: str | None, message: str | None) -> str:
    """The input with ids and messages; every other byte stays."""
    protocol.read_input(text, partial=True, once=True)
    given = {name for name, source in jsontext.members(text).items() if source != "null"}
    made = {"/threadId": thread_id, "/runId": run_id}
    changes = {place: jsontext.dumps(value) for place, value in made.items() if value is not None}
    for name in ("threadId", "runId"):
        if name not in given:
            changes.setdefault(f"/{name}", jsontext.dumps(str(uuid.uuid4())))
    if message is not None:
        said = jsontext.dumps({"id": str(uuid.uuid4()), "role": "user", "content": message})
        before = jsontext.member(text, "messages") if "messages" in given else None
        changes["/messages"] = "[" + ",".join([*jsontext.items(before or "[]"), said]) + "]"
    elif "messages" not in given:
        changes["/messages"] = "[]"
    return jsontext.replace(text, changes)


def sendable(text: str, agent: Agent) -> bytes:
    """All seven members there, none of them null, and the version we speak: older servers refuse less (R-9, C-32)."""
    members = jsontext.members(text)
    changes: dict[str, str | None] = {
        jsontext.pointer(name): DEFAULTS.get(name) for name, source in members.items() if source == "null"
    }
    changes |= {f"/{name}": default for name, default in DEFAULTS.items() if name not in members}
    if "protocolVersion" not in members and not agent.pre_1_0:
        changes["/protocolVersion"] = jsontext.dumps(protocol.PROTOCOL_VERSION)
    return jsontext.replace(text, changes).encode("utf-8", "surrogatepass")


def check_person(agent: Agent, person: User) -> None:
    role = permissions.role_of(person)
    if role not in (Role.REVIEWER, Role.OPERATOR) or not visibility.agents(person).filter(pk=agent.pk).exists():
        raise NotAllowed(_("Reviewers of the agent's queues and operators start runs."))


def check_agent(agent: Agent) -> None:
    if not enabled_agents.rows(agent=agent.pk):
        raise AgentOff


def check_run_id(agent: Agent, run_id: str) -> None:
    if runs_known.rows(agent=agent.pk, key=key_of(run_id)):
        raise RunKnown(_("This agent has a run of that id already."))


def free_thread(agent: Agent, thread_id: str) -> Thread:
    """The thread's row, locked, where a run may start on it. Raises what `check_thread` does."""
    thread, made = _locked_thread(agent, thread_id)
    if not made:
        check_thread(thread)
    return thread


def thread_of(agent: Agent, thread_id: str) -> Thread:
    """The thread's row, locked: two starts on one thread take turns."""
    return _locked_thread(agent, thread_id)[0]


def _locked_thread(agent: Agent, thread_id: str) -> tuple[Thread, bool]:
    """And whether it was made just now: a row of this transaction is nobody else's yet."""
    key = key_of(thread_id)
    if (known := threads_locked.first(agent=agent.pk, key=key)) is None:
        others_write = connection.vendor != "sqlite"  # there writers take turns: nobody comes in between
        try:
            with transaction.atomic(savepoint=others_write):
                return new_threads.add(Thread(agent=agent, key=key, thread_id=thread_id)), True
        except IntegrityError:  # somebody else was first
            known = threads_locked.one(agent=agent.pk, key=key)
    known.agent = agent
    return known, False


def check_thread(thread: Thread) -> None:
    """Paused = its newest case is neither delivered nor withdrawn; busy = a run of it has not ended."""
    cases = paused_by(thread)
    if cases:
        tasks = Task.objects.filter(case__in=cases).order_by("case", "position")
        ids = [translation.refs_of(task).get("interruptId") for task in tasks]
        raise ThreadOpen([id_ for id_ in ids if id_ is not None], [case.code for case in cases])
    if runs_in_flight.rows(thread=thread.pk):
        raise ThreadBusy(_("A run of this thread has not ended yet."))


def paused_by(thread: Thread) -> list[Case]:
    """The case that keeps the thread waiting, if any: also expired, blocked, or with a delivery in doubt."""
    newest = opening.newest_case(thread)
    return [newest] if newest is not None and newest.state in opening.WAITING else []


def _queue(thread: Thread, run_id: str, body: bytes, *, by: User | None, now: datetime) -> Run:
    run = Run.objects.create(
        thread=thread, key=key_of(run_id), run_id=run_id, kind=Run.Kind.FIRST, input=body,
        input_digest=trail.sha256(body), requested_by=by, created_at=now,
    )  # fmt: skip
    said = f"{by.display_name if by else 'The shell'} asked {thread.agent.name} for a run."
    trail.of_run("run.queued", said, run=run, actor=by, data={"inputSha256": run.input_digest}, now=now)
    return run

"""What must hold before a caller's request is passed on: refused here, an agent never hears of it (X-11, T-98)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from agentbridge import trail
from agentbridge.delivery.tickets import Ticket, headers_of
from agentbridge.models import Agent, Run, Thread
from agentbridge.models.agents import key_of
from agentbridge.runs import starting
from agentbridge.wire import protocol
from agentbridge.wire.record import RunInput
from approvals import jsontext
from approvals.prepared import Addition, Prepared, slot
from approvals.refusals import WrongState

new_runs = Addition(Run)
threads = Prepared(lambda: Thread.objects.filter(agent=slot("agent"), key=slot("key")))


def check(agent: Agent, body: bytes) -> RunInput:
    """Would this be admitted? Asked before the agent is connected to; `admit` asks again under the thread's lock.

    `agent` was read a moment ago. Raises `protocol.ProtocolError` for what is no RunAgentInput, and the refusals of
    `starting`.
    """
    asked = read(body)
    if not agent.enabled:
        raise starting.AgentOff
    thread = threads.first(agent=agent.pk, key=key_of(asked.thread_id))
    if thread is not None:
        thread.agent = agent
        starting.check_thread(thread)
    _check_asked(agent, asked)
    return asked


def admit(agent: Agent, body: bytes, asked: RunInput | None = None, *, owner: str, now: datetime) -> Run:
    """On record and armed in one commit: the connection stands, and from here on bytes may have left us.

    The caller's bytes are what goes out; `asked` is what `check` read in them. Raises what `check` does.
    """
    said = f"A caller asked {agent.name} for a run; from here on bytes may have left us."
    held = {"lease_owner": owner, "lease_until": now + timedelta(seconds=settings.LEASE_SECONDS)}
    how: dict[str, Any] = {"status": Run.Status.RUNNING, "armed_at": now, **held}
    return _record(agent, body, asked or read(body), "run.armed", said, now=now, **how)


def ticket_of(run: Run) -> Ticket:
    """What is needed to send a run as it was admitted."""
    agent = run.thread.agent
    return Ticket(
        run_pk=run.pk, resume_pk=None, agent_pk=agent.pk, thread_pk=run.thread_id, fence=run.fence, url=agent.url,
        headers=headers_of(agent), body=bytes(run.input),
    )  # fmt: skip


def admit_unsent(agent: Agent, body: bytes, sentence: str, *, now: datetime) -> None:
    """On record as a request with which the agent was not reached. Raises what `check` does."""
    said = f"A caller asked {agent.name} for a run. Nothing was sent: {sentence}"
    how: dict[str, Any] = {"status": Run.Status.UNSENT, "ended_at": now, "error": sentence}
    _record(agent, body, read(body), "run.unsent", said, now=now, **how)


def _record(agent: Agent, body: bytes, asked: RunInput, verb: str, said: str, *, now: datetime, **how: Any) -> Run:
    digest = trail.sha256(body)
    try:
        with transaction.atomic(savepoint=False):  # nobody goes on after a refusal
            starting.check_agent(agent)
            thread = starting.free_thread(agent, asked.thread_id)
            _check_asked(agent, asked)
            run = new_runs.add(Run(
                thread=thread, key=key_of(asked.run_id), run_id=asked.run_id, kind=Run.Kind.FIRST, way=Run.Way.RELAY,
                input=body, input_digest=digest, created_at=now, fence=1, **how,
            ))  # fmt: skip
            trail.of_run(verb, said, run=run, data={"inputSha256": digest, "way": run.way}, now=now)
    except IntegrityError as lost:  # two requests at once: the unique index lets one through
        raise starting.ThreadBusy(_("Another run of this thread has just been started.")) from lost
    return run


def _check_asked(agent: Agent, asked: RunInput) -> None:
    if jsontext.items(asked.resume or "[]"):
        raise WrongState(_("Nothing on this thread waits for these answers."))
    starting.check_run_id(agent, asked.run_id)


def read(body: bytes) -> RunInput:
    """Raises ProtocolError. What the agent may read as it likes is not judged; the ids are what we keep records by."""
    try:
        text = body.decode("utf-8")
        asked = protocol.read_input(text, partial=True, once=True)
    except UnicodeDecodeError as error:
        raise protocol.ProtocolError("", _("The body is not UTF-8.")) from error
    for name, value in (("threadId", asked.thread_id), ("runId", asked.run_id)):
        if not value:
            raise protocol.ProtocolError(name, _("The input has no %(name)s.") % {"name": name})
    return asked

"""What must hold before a caller's request is passed on: refused here, an agent never hears of it (X-11, T-98)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from agentbridge import trail
from agentbridge.delivery.tickets import Ticket, headers_of
from agentbridge.models import Agent, Run, Thread
from agentbridge.models.agents import key_of
from agentbridge.runs import queueing, starting
from agentbridge.wire import protocol
from agentbridge.wire.record import RunInput
from approvals import clock, jsontext
from approvals.refusals import WrongState


def check(agent: Agent, body: bytes) -> None:
    """Would this be admitted? Asked before the agent is connected to; `admit` asks again under the thread's lock.

    Raises `protocol.ProtocolError` for what is no RunAgentInput, and the refusals of `starting`.
    """
    asked = read(body)
    starting.check_agent(agent)
    thread = Thread.objects.select_related("agent").filter(agent=agent, key=key_of(asked.thread_id)).first()
    if thread is not None:
        starting.check_thread(thread)
    _check_asked(agent, asked)


def admit(agent: Agent, body: bytes, *, owner: str, now: datetime) -> Ticket:
    """Put a caller's request on record as a run of this process; its bytes are what goes out.

    Raises what `check` does.
    """
    asked = read(body)
    try:
        with transaction.atomic():
            starting.check_agent(agent)
            thread = starting.thread_of(agent, asked.thread_id)
            starting.check_thread(thread)
            _check_asked(agent, asked)
            run = _record(thread, asked.run_id, body, owner=owner, now=now)
    except IntegrityError as lost:  # two requests at once: the unique index lets one through
        raise starting.ThreadBusy(_("Another run of this thread has just been started.")) from lost
    return Ticket(
        run_pk=run.pk, resume_pk=None, agent_pk=agent.pk, thread_pk=thread.pk, fence=run.fence, url=agent.url,
        headers=headers_of(agent), body=body,
    )  # fmt: skip


@transaction.atomic
def admit_armed(agent: Agent, body: bytes, *, owner: str) -> Ticket:
    """On record and armed in one commit: the connection stands, and from here on bytes may have left us."""
    now = clock.now()
    ticket = admit(agent, body, owner=owner, now=now)
    queueing.arm(ticket, now=now)
    return ticket


@transaction.atomic
def admit_unsent(agent: Agent, body: bytes, sentence: str, *, owner: str) -> None:
    """On record as a request with which the agent was not reached."""
    now = clock.now()
    queueing.give_up(admit(agent, body, owner=owner, now=now), sentence=sentence, now=now)


def _check_asked(agent: Agent, asked: RunInput) -> None:
    if jsontext.items(asked.resume or "[]"):
        raise WrongState(_("Nothing on this thread waits for these answers."))
    if Run.objects.filter(thread__agent=agent, key=key_of(asked.run_id)).exists():
        raise starting.RunKnown(_("This agent has a run of that id already."))


def read(body: bytes) -> RunInput:
    """Raises ProtocolError. What the agent may read as it likes is not judged; the ids are what we keep records by."""
    try:
        asked = protocol.read_input(body.decode("utf-8"), partial=True)
    except UnicodeDecodeError as error:
        raise protocol.ProtocolError("", _("The body is not UTF-8.")) from error
    for name, value in (("threadId", asked.thread_id), ("runId", asked.run_id)):
        if not value:
            raise protocol.ProtocolError(name, _("The input has no %(name)s.") % {"name": name})
    return asked


def _record(thread: Thread, run_id: str, body: bytes, *, owner: str, now: datetime) -> Run:
    run = Run.objects.create(
        thread=thread, key=key_of(run_id), run_id=run_id, kind=Run.Kind.FIRST, way=Run.Way.RELAY, input=body,
        input_digest=trail.sha256(body), created_at=now, lease_owner=owner, fence=1,
        lease_until=now + timedelta(seconds=settings.LEASE_SECONDS),
    )  # fmt: skip
    data = {"inputSha256": run.input_digest, "way": run.way}
    trail.of_run("run.queued", f"A caller asked {thread.agent.name} for a run.", run=run, data=data, now=now)
    return run

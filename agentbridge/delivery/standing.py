"""Whether an agent is still what it was taken for: proven replay-safe, and there at all (`delivery.md` C.3, C.7)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from agentbridge import trail
from agentbridge.models import Agent, Run
from agentbridge.models.agents import ReplayClass

PROVEN_FOR = timedelta(days=90)
OLD, CHANGED = "old", "changed"  # why a proof counts no more
GONE = 410
COLUMNS = ("replay_class", "replay_set_at", "replay_lapsed_at", "replay_server")  # what `give_class` sets


def replay_class(agent: Agent, *, now: datetime) -> str:
    """The class that counts at this moment: a proof that is old, or of another server, proves nothing."""
    return ReplayClass.UNKNOWN if lapsed(agent, now=now) else agent.replay_class


def lapsed(agent: Agent, *, now: datetime) -> str:
    """Why `verified` does not count any more: OLD, CHANGED, or "" while it does. A guard of ours does not age."""
    if agent.replay_class != ReplayClass.VERIFIED:
        return ""
    if agent.replay_lapsed_at is not None:
        return CHANGED
    if agent.replay_set_at is None or now - agent.replay_set_at >= PROVEN_FOR:
        return OLD
    return ""


def give_class(agent: Agent, replay: str, *, now: datetime) -> None:
    """Set a class on the unsaved row: proven from now on, at the server that answered last."""
    last = Run.objects.filter(thread__agent=agent, http_status=200).order_by("-pk") if agent.pk else Run.objects.none()
    agent.replay_class, agent.replay_set_at, agent.replay_lapsed_at = replay, now, None
    agent.replay_server = last.values_list("http_version_note", flat=True).first()


def moved(agent: Agent, proven: str | None, *, now: datetime) -> None:
    """Another address, on the unsaved row: the class that is `proven` for it, and unknown where that is not said."""
    give_class(agent, proven or ReplayClass.UNKNOWN, now=now)
    agent.replay_server = None  # the one that answered last was at the old address


def heard(agent: Agent, server: str, *, now: datetime) -> None:
    """An event stream came from a server that calls itself so. Another name than at the proof ends the proof.

    Answers of gateways do not count: they carry the gateway's name.
    """
    if agent.replay_class == ReplayClass.VERIFIED and agent.replay_server != server:
        _compare(agent, server, now=now)


@transaction.atomic
def _compare(agent: Agent, server: str, *, now: datetime) -> None:
    proven = Agent.objects.filter(pk=agent.pk, replay_class=ReplayClass.VERIFIED, replay_lapsed_at=None)
    if proven.filter(replay_server=None).update(replay_server=server):
        return
    if proven.exclude(replay_server=server).update(replay_lapsed_at=now):
        said = f"Agent “{agent.name}” is another server than the one that was verified; it counts as unknown again."
        data = {"from": agent.replay_server, "to": server}
        trail.of_agent("agent.replay_lapsed", said, agent=agent, data=data, now=now)


def gone(agent: Agent, *, now: datetime) -> None:
    """HTTP 410: the agent says that it is no more at this address. Nothing is sent there until it is switched on."""
    if Agent.objects.filter(pk=agent.pk, enabled=True).update(enabled=False):
        said = f"Agent “{agent.name}” was switched off: it answered that it is gone for good (HTTP {GONE})."
        trail.of_agent("agent.switched_off", said, agent=agent, data={"httpStatus": GONE}, now=now)

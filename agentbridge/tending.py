"""What is done with an agent that is registered: new tokens, switching it off and on, its replay class."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from agentbridge import trail
from agentbridge.delivery import standing
from agentbridge.models import Agent
from agentbridge.models.agents import ReplayClass
from approvals import locking, permissions
from approvals.models import User
from approvals.refusals import Invalid, NotAllowed, WrongState
from approvals.schemas import Problem

PREFIXES = {"host": "csh_", "caller": "csc_"}  # push and pull · relay


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Shown once; stored as their SHA-256. "" was not made."""

    host: str = ""
    caller: str = ""


def administrator(by: User) -> User:
    """The person with the rights of this moment. Raises NotAllowed."""
    return _checked(by, permissions.may_administer)


def caretaker(by: User) -> User:
    """An operator or an administrator. Raises NotAllowed."""
    return _checked(by, permissions.may_tend)


def _checked(by: User, right: permissions.Right) -> User:
    by = locking.locked_person(by)
    refusal = right(by)
    if refusal:
        raise NotAllowed(refusal)
    return by


def make_tokens(agent: Agent, *, kinds: tuple[str, ...] = ("host", "caller"), by: User | None, now: datetime) -> Tokens:
    """Inside the transaction of the deed that makes them. The old ones stop working at once."""
    made = {kind: PREFIXES[kind] + secrets.token_urlsafe(32) for kind in kinds}
    for kind, token in made.items():
        setattr(agent, f"{kind}_token", hashlib.sha256(token.encode()).hexdigest())
    agent.save(update_fields=[f"{kind}_token" for kind in kinds])
    said = f"Agent “{agent.name}” got a new token: {', '.join(kinds)}."
    trail.of_agent("agent.token_made", said, agent=agent, actor=by, data={"tokens": list(kinds)}, now=now)
    return Tokens(**made)


@transaction.atomic
def rotate(agent: Agent, *, kind: str, by: User, now: datetime) -> Tokens:
    """A new host or caller token. Raises NotAllowed, Invalid."""
    by = administrator(by)
    if kind not in PREFIXES:
        raise Invalid([Problem("/kind", _("There is no such token."))])
    return make_tokens(agent, kinds=(kind,), by=by, now=now)


@transaction.atomic
def switch(agent: Agent, *, on: bool, by: User, now: datetime) -> None:
    """Off: nothing is started or delivered; what was asked stays, and can be decided. Raises NotAllowed, WrongState."""
    by = administrator(by)
    if not Agent.objects.filter(pk=agent.pk, enabled=not on).update(enabled=on):
        raise WrongState(_("The agent is switched on already.") if on else _("The agent is switched off already."))
    verb, word = ("agent.switched_on", "on") if on else ("agent.switched_off", "off")
    said = f"{by.display_name} switched agent “{agent.name}” {word}."
    trail.of_agent(verb, said, agent=agent, actor=by, now=now)


@transaction.atomic
def set_replay(agent: Agent, *, replay: str, reason: str, by: User, now: datetime) -> None:
    """Whether the same answers may be sent again. Raises NotAllowed, Invalid, WrongState."""
    by = caretaker(by)
    if replay not in ReplayClass.values:
        raise Invalid([Problem("/replay", _("There is no such replay class."))])
    if not reason.strip():
        raise Invalid([Problem("/reason", _("Say why: another replay class needs a reason."))])
    agent = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    before = agent.replay_class
    if before == replay and not standing.lapsed(agent, now=now):
        raise WrongState(_("This is the agent's replay class already."))
    standing.give_class(agent, replay, now=now)
    agent.save(update_fields=standing.COLUMNS)
    said = f"{by.display_name} set the replay class of “{agent.name}” from {before} to {replay}: {reason}"
    data = {"from": before, "replay": replay, "reason": reason}
    trail.of_agent("agent.replay_set", said, agent=agent, actor=by, data=data, now=now)


@transaction.atomic
def record_test(agent: Agent, *, outcome: str, by: User, now: datetime) -> None:
    """The agent's headers went out: that is a deed. Raises NotAllowed."""
    by = caretaker(by)
    said = f"{by.display_name} tested the connection to agent “{agent.name}”: {outcome}."
    trail.of_agent("agent.tested", said, agent=agent, actor=by, data={"outcome": outcome}, now=now)

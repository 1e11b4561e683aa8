"""Registering agents and changing them. Credentials and tokens go in; only a token's first showing comes out."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from agentbridge import client, dialects, egress, trail
from agentbridge.models import Agent
from agentbridge.models.agents import ReplayClass
from approvals import people
from approvals.models import Queue, User

DEFAULT_QUEUE = "Approvals"
HOST_PREFIX, CALLER_PREFIX = "csh_", "csc_"


class BadAgent(ValueError):
    """What was given cannot be an agent; the sentence says why."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What an agent shall be; None leaves a known agent as it is."""

    slug: str
    url: str
    name: str | None = None
    queue: str | None = None
    routes: Mapping[str, str] | None = None
    headers: Sequence[tuple[str, str]] | None = None
    dialect: str | None = None
    replay: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Shown once; stored as their SHA-256."""

    host: str
    caller: str


@transaction.atomic
def register(
    wanted: Wanted, *, new_token: bool = False, by: User | None = None, now: datetime
) -> tuple[Agent, Tokens | None]:
    """Create or update an agent. Tokens are made for a new one, or when asked for. Raises BadAgent."""
    check(wanted)
    agent = Agent.objects.select_for_update(no_key=True).filter(slug=wanted.slug).first()
    created = agent is None
    agent = agent or Agent(slug=wanted.slug, name=wanted.slug, url=wanted.url, created_at=now)
    changed = _apply(agent, wanted, now=now, by=by)
    tokens = _new_tokens(agent) if created or new_token else None
    agent.save()
    verb = "agent.added" if created else "agent.changed"
    said = f"Agent “{agent.name}” was {'registered' if created else 'changed'}: {', '.join(changed) or 'nothing'}."
    data = {"changed": changed, "urlVersion": agent.url_version}
    trail.of_agent(verb, said, agent=agent, actor=by, data=data, now=now)
    if tokens is not None:
        trail.of_agent("agent.token_made", f"Agent “{agent.name}” got new tokens.", agent=agent, actor=by, now=now)
    return agent, tokens


def check(wanted: Wanted) -> None:
    try:
        egress.check_url(wanted.url)
        client.check_headers(wanted.headers or ())
    except egress.NotAllowed as reason:
        raise BadAgent(reason.sentence) from reason
    if wanted.dialect not in (None, dialects.AUTO, *dialects.NAMES):
        raise BadAgent(f"There is no dialect {wanted.dialect}; known are auto, {', '.join(dialects.NAMES)}.")
    if wanted.replay not in (None, *ReplayClass.values):
        raise BadAgent(f"There is no replay class {wanted.replay}; known are {', '.join(ReplayClass.values)}.")


def _apply(agent: Agent, wanted: Wanted, *, now: datetime, by: User | None) -> list[str]:
    """Set what is wanted; the names of what changed, never the values of headers."""
    queues = {name: _queue(name, by=by, now=now) for name in {wanted.queue, *(wanted.routes or {}).values()} if name}
    given: dict[str, Any] = {
        "url": wanted.url, "name": wanted.name, "routes": None if wanted.routes is None else dict(wanted.routes),
        "headers": None if wanted.headers is None else json.dumps(list(wanted.headers)),
        "dialect": wanted.dialect, "replay_class": wanted.replay,
    }  # fmt: skip
    changed = [name for name, value in given.items() if value is not None and getattr(agent, name) != value]
    if "url" in changed and agent.pk:
        agent.url_version += 1  # what was sealed for the old address waits until a person binds it to the new one
    for name in changed:
        setattr(agent, name, given[name])
    if wanted.queue or not agent.pk:
        agent.queue = queues.get(wanted.queue or "") or _queue(DEFAULT_QUEUE, by=by, now=now)
        changed.append("queue")
    return changed


def _queue(name: str, *, by: User | None, now: datetime) -> Queue:
    return people.set_queue(name, by=by, now=now)


def _new_tokens(agent: Agent) -> Tokens:
    tokens = Tokens(host=HOST_PREFIX + secrets.token_urlsafe(32), caller=CALLER_PREFIX + secrets.token_urlsafe(32))
    agent.host_token = hashlib.sha256(tokens.host.encode()).hexdigest()
    agent.caller_token = hashlib.sha256(tokens.caller.encode()).hexdigest()
    return tokens

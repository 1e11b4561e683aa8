"""Registering agents and changing them. Credentials and tokens go in; only a token's first showing comes out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from agentbridge import dialects, owntrace, tending, trail
from agentbridge.delivery import standing
from agentbridge.models import Agent
from agentbridge.models.agents import Receipts, ReplayClass
from agentbridge.net import client, egress
from agentbridge.tending import Tokens
from agentbridge.wire import reading
from approvals import people
from approvals.models import User

DEFAULT_QUEUE = "Approvals"
RESERVED = ("new",)  # `/agents/new/` is a page of ours


class BadAgent(ValueError):
    """What was given cannot be an agent; the sentence says why, `field` which part of `Wanted` it is about."""

    def __init__(self, sentence: str, field: str = "") -> None:
        super().__init__(sentence)
        self.field = field


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
    reason: str = ""  # for another replay class; the shell needs none
    tolerances: Sequence[str] | None = None
    pre_1_0: bool | None = None
    busy_is_not_taken: bool | None = None
    caller_decides: bool | None = None
    receipts: str | None = None
    capabilities_url: str | None = None
    trace_url: str | None = None


@transaction.atomic
def register(wanted: Wanted, *, new_token: bool = False, now: datetime) -> tuple[Agent, Tokens | None]:
    """From the shell: create an agent or update it; tokens come with a new one or when asked for. Raises BadAgent."""
    check(wanted)
    agent = Agent.objects.select_for_update(no_key=True).filter(slug=wanted.slug).first()
    if agent is None:
        return _create(wanted, by=None, now=now)
    _update(agent, wanted, by=None, now=now)
    return agent, tending.make_tokens(agent, by=None, now=now) if new_token else None


def add(wanted: Wanted, *, by: User, now: datetime) -> tuple[Agent, Tokens]:
    """A person registers a new agent. Raises NotAllowed, BadAgent (also for a slug that is taken)."""
    check(wanted)
    try:
        with transaction.atomic():
            return _create(wanted, by=tending.administrator(by), now=now)
    except IntegrityError:
        raise BadAgent(_("There is an agent with this slug already."), "slug") from None


@transaction.atomic
def change(agent: Agent, wanted: Wanted, *, by: User, now: datetime) -> list[str]:
    """A person changes an agent; answers with the names of what is different now. Raises NotAllowed, BadAgent."""
    by = tending.administrator(by)
    check(wanted)
    agent = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    return _update(agent, wanted, by=by, now=now)


def check(wanted: Wanted) -> None:
    """Raises BadAgent. Whether the address policy lets us there is asked where names are looked up."""
    if wanted.slug in RESERVED:
        raise BadAgent(_("This slug is taken by a page of the desk."), "slug")
    for field, url in (("url", wanted.url), ("capabilities_url", wanted.capabilities_url)):
        _allowed(field, egress.check_url, url)
    _allowed("trace_url", owntrace.check, wanted.trace_url)
    _allowed("headers", client.check_headers, wanted.headers)
    known = {
        "dialect": (wanted.dialect, (dialects.AUTO, *dialects.NAMES)), "replay": (wanted.replay, ReplayClass.values),
        "receipts": (wanted.receipts, Receipts.values),
        **{f"tolerances {name}": (name, reading.TOLERANCES) for name in wanted.tolerances or ()},
    }  # fmt: skip
    for field, (value, values) in known.items():
        if value is not None and value not in values:
            told = {"value": value, "values": ", ".join(values)}
            raise BadAgent(_("“%(value)s” is not known here; known: %(values)s.") % told, field.partition(" ")[0])


def _allowed(field: str, judge: Any, value: Any) -> None:
    try:
        if value:
            judge(value)
    except egress.NotAllowed as reason:
        raise BadAgent(reason.sentence, field) from reason


def _create(wanted: Wanted, *, by: User | None, now: datetime) -> tuple[Agent, Tokens]:
    agent = Agent(slug=wanted.slug, name=wanted.slug, url=wanted.url, created_at=now)
    changed = _apply(agent, wanted, by=by, now=now)
    agent.save(force_insert=True)
    said = f"Agent “{agent.name}” was registered: {', '.join(changed)}."
    trail.of_agent("agent.added", said, agent=agent, actor=by, data=told(agent, changed, wanted), now=now)
    return agent, tending.make_tokens(agent, by=by, now=now)


def _update(agent: Agent, wanted: Wanted, *, by: User | None, now: datetime) -> list[str]:
    before, replay = agent.url, agent.replay_class
    changed = _apply(agent, wanted, by=by, now=now)
    agent.save(update_fields={*changed, "url_version", *standing.COLUMNS})
    said = f"Agent “{agent.name}” was changed: {', '.join(changed) or 'nothing'}."
    trail.of_agent("agent.changed", said, agent=agent, actor=by, data=told(agent, changed, wanted), now=now)
    if "url" in changed:
        said = f"Agent “{agent.name}” has another address; deliveries sealed for the old one wait for an operator."
        data = {"from": place_of(before), "to": place_of(agent.url), "urlVersion": agent.url_version}
        trail.of_agent("agent.url_changed", said, agent=agent, actor=by, data=data, now=now)
        if agent.replay_class != replay and "replay_class" not in changed:
            said = f"Agent “{agent.name}” counts as unknown again: “{replay}” was proven for its old address."
            data = {"from": replay, "to": agent.replay_class}
            trail.of_agent("agent.replay_lapsed", said, agent=agent, actor=by, data=data, now=now)
            changed.append("replay_class")
    return changed


def told(agent: Agent, changed: Sequence[str], wanted: Wanted) -> dict[str, Any]:
    """What the entry keeps: names, and never a header's value."""
    data: dict[str, Any] = {"changed": list(changed), "urlVersion": agent.url_version}
    if "replay_class" in changed:
        data |= {"replay": agent.replay_class, "reason": wanted.reason}
    if "caller_decides" in changed:
        data["callerDecides"] = agent.caller_decides
    return data


def place_of(url: str) -> str:
    """An address without its query, where some hosts expect a key."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path}"


def _apply(agent: Agent, wanted: Wanted, *, by: User | None, now: datetime) -> list[str]:
    """Set what is wanted; the names of the columns that changed."""
    named = {name for name in {wanted.queue, *(wanted.routes or {}).values()} if name}
    queues = {name: people.set_queue(name, by=by, now=now) for name in sorted(named)}
    given = {name: value for name, value in _columns(agent, wanted).items() if value is not None}
    if wanted.queue or not agent.pk:
        given["queue"] = queues.get(wanted.queue or "") or people.set_queue(DEFAULT_QUEUE, by=by, now=now)
    changed = [name for name, value in given.items() if _differs(agent, name, value)]
    if "replay_class" in changed and by is not None and not wanted.reason.strip():
        raise BadAgent(_("Say why: another replay class needs a reason."), "reason")
    for name in changed:
        setattr(agent, name, given[name])
    if "replay_class" in changed:
        standing.give_class(agent, agent.replay_class, now=now)
    if "url" in changed and agent.pk:
        agent.url_version += 1  # what was sealed for the old address waits until a person binds it to the new one
        standing.moved(agent, wanted.replay if by is None or wanted.reason.strip() else None, now=now)
    return changed


def _columns(agent: Agent, wanted: Wanted) -> dict[str, Any]:
    headers = None if wanted.headers is None else json.dumps(list(wanted.headers)) if wanted.headers else ""
    if headers is None and agent.pk and agent.url != wanted.url:
        headers = ""  # credentials belong to the address they were given for (T47)
    return {
        "url": wanted.url, "name": wanted.name, "routes": None if wanted.routes is None else dict(wanted.routes),
        "headers": headers, "dialect": wanted.dialect, "replay_class": wanted.replay,
        "tolerances": None if wanted.tolerances is None else list(wanted.tolerances), "pre_1_0": wanted.pre_1_0,
        "busy_is_not_taken": wanted.busy_is_not_taken, "capabilities_url": wanted.capabilities_url,
        "trace_url": wanted.trace_url, "receipts": wanted.receipts, "caller_decides": wanted.caller_decides,
    }  # fmt: skip


def _differs(agent: Agent, name: str, value: Any) -> bool:
    if name == "queue":
        return agent.queue_id != value.pk
    return (name == "url" and not agent.pk) or getattr(agent, name) != value

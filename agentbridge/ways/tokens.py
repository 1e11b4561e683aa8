"""Who stands before an agent's own addresses: its callers, or the host it runs on."""

from __future__ import annotations

import hashlib
import hmac
from typing import Literal

from agentbridge.models import Agent
from approvals.prepared import Prepared, slot

Kind = Literal["caller", "host"]

called = Prepared(lambda: Agent.objects.select_related("queue").filter(slug=slot("slug")))


def agent_of(slug: str, authorization: str, kind: Kind) -> Agent | None:
    """The agent whose token of this kind was sent. None: no such agent or another token, and nobody learns which."""
    scheme, _, token = authorization.partition(" ")
    agent = called.first(slug=slug)
    kept = getattr(agent, f"{kind}_token", "")
    given = hashlib.sha256(token.strip().encode("utf-8", "surrogatepass")).hexdigest()
    right = hmac.compare_digest(kept.encode(), given.encode())
    return agent if right and scheme.lower() == "bearer" else None


def holds_still(agent: Agent, kind: Kind) -> bool:
    """Is the token by which `agent` was found its token at this moment? A request that waits may outlive it."""
    return Agent.objects.filter(pk=agent.pk, **{f"{kind}_token": getattr(agent, f"{kind}_token")}).exists()

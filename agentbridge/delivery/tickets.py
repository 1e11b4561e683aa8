"""What the asynchronous side needs to make one request: plain values, no rows."""

from __future__ import annotations

import json
from dataclasses import dataclass

from agentbridge.models import Agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """One claimed and prepared request. `resume_pk` is None for a first run."""

    run_pk: int
    resume_pk: int | None
    agent_pk: int
    thread_pk: int
    fence: int
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(slots=True, kw_only=True)
class Head:
    """What is known about an answer beside its body. `status` None: no answer at all."""

    status: int | None = None
    server: str = ""
    retry_after: float | None = None  # seconds that the agent asked for
    bytes_sent: int = 0
    trouble: str = ""  # what went wrong on the way, for people

    @property
    def refused(self) -> bool:
        return self.status is not None and self.status >= 300


def headers_of(agent: Agent) -> tuple[tuple[str, str], ...]:
    """The agent's own headers; they go on the wire and nowhere else."""
    return tuple((str(name), str(value)) for name, value in json.loads(agent.headers or "[]"))

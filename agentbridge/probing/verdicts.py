"""What the probe found, on the agent and on the trail. It sets the replay class, also back to unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from agentbridge import trail
from agentbridge.delivery import standing
from agentbridge.models import Agent
from agentbridge.models.agents import ReplayClass
from agentbridge.probing.checks import PASSED, Check
from agentbridge.probing.talking import Heard


@dataclass(frozen=True, kw_only=True)
class Report:
    """All eight checks and the class that they prove."""

    replay: str
    server: str
    checks: Sequence[Check]

    @property
    def passed(self) -> int:
        return sum(check.result == PASSED for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        return {"class": self.replay, "server": self.server, "checks": [told(check) for check in self.checks]}


def told(check: Check) -> dict[str, str]:
    found = asdict(check)
    return {"check": found.pop("name"), **found}


def report(checks: Sequence[Check], heard: Sequence[Heard]) -> Report:
    """`guarded` when every answer came through our guard: then the proof does not age with the agent."""
    whole = all(check.result == PASSED for check in checks)
    guarded = bool(heard) and all(one.guarded for one in heard)
    proven = ReplayClass.GUARDED if guarded else ReplayClass.VERIFIED
    server = next((one.server for one in reversed(heard) if one.status == 200 and one.server), "")
    return Report(replay=str(proven if whole else ReplayClass.UNKNOWN), server=server, checks=list(checks))


@transaction.atomic
def record(agent: Agent, found: Report, *, now: datetime) -> None:
    """The class, its evidence and one entry."""
    agent = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    before = agent.replay_class
    standing.give_class(agent, found.replay, now=now)
    agent.replay_server = found.server[:200] or None
    agent.probe, agent.probed_at, agent.probed_url_version = found.to_json(), now, agent.url_version
    agent.save(update_fields=[*standing.COLUMNS, "probe", "probed_at", "probed_url_version"])
    said = (
        f"Agent “{agent.name}” was probed: {found.passed} of {len(found.checks)} checks passed. "
        f"Its replay class was {before} and is {found.replay}."
    )
    data = {"from": before, "replay": found.replay, **found.to_json()}
    trail.of_agent("agent.probed", said, agent=agent, data=data, now=now)

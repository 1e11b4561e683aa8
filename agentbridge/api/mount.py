"""The one NinjaAPI: who may ask, how it fails, and which routers hang in it."""

from __future__ import annotations

from ninja import NinjaAPI

from agentbridge.api import cases, incidents, refusals, runs
from agentbridge.runs import starting
from agentbridge.wire.protocol import ProtocolError
from approvals.api import problems, tasks, trail
from approvals.api.auth import PersonToken

api = NinjaAPI(
    title="Countersign", version="1", description="The approval desk for AI agents. Times are RFC 3339 in UTC.",
    docs_url=None, urls_namespace="api", auth=PersonToken(),
)  # fmt: skip
problems.install(api, {
    starting.ThreadOpen: refusals.of_open_thread,
    ProtocolError: refusals.of_protocol,
})  # fmt: skip
for router in (tasks.router, trail.router, cases.router, runs.router, incidents.router):
    api.add_router("", router)

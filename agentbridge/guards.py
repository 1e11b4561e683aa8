"""What the database refuses about deliveries and raw streams; see `approvals.guards`."""

from __future__ import annotations

from approvals.guards import Guard

RESUME = Guard(
    table="agentbridge_resume",
    fixed=["id", "case_id", "n", "interrupted_run_id", "thread_id", "agent_id", "sha256", "sealed_at"],
    once=["replaced_at"],
    emptied=[["entries", "forwarded_props", "messages", "signature"]],
    ends=("state", ("finished", "interrupted_again", "expired_unsent", "marked_done", "abandoned")),
    message="sealed bytes and ended deliveries never change",
)
CHUNK = Guard(
    table="agentbridge_streamchunk",
    fixed=["id", "run_id", "n", "at"],
    emptied=[["data"]],
    message="a raw stream never changes",
)
GUARDS = (RESUME, CHUNK)

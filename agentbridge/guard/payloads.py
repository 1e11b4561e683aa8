"""An answer against the agent's own `responseSchema`, in bounded time: costly schemas are tried in a process apart."""

from __future__ import annotations

from approvals.validation import check, worker

LIMITS = check.Limits()


def problem(schema: str, payload: str) -> str | None:
    """The first thing that does not fit, else None. A schema that cannot be used judges nothing (R-19)."""
    try:
        read = check.read(schema, LIMITS)
        cheap = check.is_cheap(read, len(schema), payload)
        found = (check.failures if cheap else worker.failures)(schema, payload, LIMITS)
    except check.UnusableSchema:
        return None
    return f"{found[0].keyword} at {found[0].pointer or 'its root'}" if found else None

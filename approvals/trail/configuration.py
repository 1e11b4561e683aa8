"""The settings a desk works under, as its trail keeps them: what changes what people may do, and no secret.

A process tells them when it starts (`lifecycle`), and an entry of its own says what is not as it was at the last start.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings

NAMES = (
    "PUBLIC_URL", "ALLOWED_HOSTS", "EGRESS_ALLOW", "ANCHORS", "CHECKPOINT_SECONDS", "CHECKPOINT_ENTRIES",
    "KEY_LEAD_SECONDS", "UNDO_SECONDS", "EXPIRY_MARGIN_SECONDS", "LEASE_SECONDS", "BACKOFF_SECONDS", "CONNECT_SECONDS",
    "FIRST_EVENT_SECONDS", "IDLE_SECONDS", "RUN_SECONDS", "FRAME_LIMIT", "STREAM_LIMIT", "UNREAD_LIMIT", "BODY_LIMIT",
    "SCHEMA_BYTES", "SCHEMA_DEPTH", "PATTERN_MS", "MASK_NAMES", "MASK_VALUES", "AGENT_PARALLEL", "WORKER_STREAMS",
    "HOST_WAITS", "HOST_WAITS_IN_ALL", "THREAD_ROUNDS", "DEBUG",
)  # fmt: skip


def current() -> dict[str, str]:
    """Each setting as a text. Keys, and addresses that hold passwords, are not among them."""
    return {name: _text(getattr(settings, name)) for name in NAMES}


def changes(before: dict[str, str], now: dict[str, str]) -> dict[str, list[str | None]]:
    """From what to what, for each name that differs; None where one of the two does not know it."""
    names = [*now, *(name for name in before if name not in now)]
    return {name: [before.get(name), now.get(name)] for name in names if before.get(name) != now.get(name)}


def _text(value: Any) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(map(str, value))
    return str(value)

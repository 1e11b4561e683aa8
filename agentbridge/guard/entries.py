"""Answers as they arrive in `resume[]`, and whether two of them say the same (rule 5 of the Interrupts page). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentbridge.guard.refusals import MALFORMED, Refusal
from approvals import jsontext

STATUSES = ("resolved", "cancelled")


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer; `payload` is its exact JSON text, None where there is none."""

    id: str
    status: str
    payload: str | None
    metadata: str | None = None


Entries = tuple[Entry, ...]


def read_entries(resume: str) -> Entries:
    """The members of a `resume[]`. Raises Refusal for what is no answer."""
    return tuple(_entry(text) for text in jsontext.items(resume))


def _entry(text: str) -> Entry:
    found = jsontext.members(text) if text.startswith("{") else {}
    id_, status = (_string(found.get(name)) for name in ("interruptId", "status"))
    if not id_ or status not in STATUSES:
        raise Refusal(MALFORMED, "An entry of resume[] needs an interruptId, and a status: resolved or cancelled.")
    return Entry(id_, status, found.get("payload"), found.get("metadata"))


def _string(text: str | None) -> str:
    value: Any = jsontext.loads(text) if text is not None and text.startswith('"') else ""
    return value if isinstance(value, str) else ""


def same(ours: Entries, theirs: Entries) -> bool:
    """The same ids, statuses and payloads, in whatever order; `metadata` is not part of an answer (R-13)."""
    one, other = (sorted(entries, key=lambda entry: entry.id) for entries in (ours, theirs))
    return len(one) == len(other) and all(_same_entry(a, b) for a, b in zip(one, other, strict=True))


def _same_entry(one: Entry, other: Entry) -> bool:
    if (one.id, one.status, one.payload is None) != (other.id, other.status, other.payload is None):
        return False
    return one.payload is None or other.payload is None or jsontext.same(one.payload, other.payload)


def spread(entries: Entries, asked: Sequence[str]) -> Entries:
    """The answers one by one, where a single entry carries them all as an object by interrupt id.

    That is how several questions of ag-ui-langgraph are answered (`real-agents`, issue 2178).
    """
    if len(entries) != 1 or len(asked) < 2 or entries[0].payload is None or not entries[0].payload.startswith("{"):
        return entries
    found = jsontext.members(entries[0].payload)
    if found.keys() != set(asked) or entries[0].id not in found:
        return entries
    return tuple(Entry(id_, "resolved", text) for id_, text in found.items())

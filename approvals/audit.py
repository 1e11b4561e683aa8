"""The trail: every deed writes its entry here, in its own transaction, or does not happen (promise 6).

`record` takes the chain lock and the next number, and both are held until the transaction ends: the visible order is
the order of `seq`, and `seq > cursor` misses nothing. So record last, after the rows of the deed are locked and written
(`docs/decisions/0007-trail-order.md`). Sentences are written once, in English: in ten years the trail says what it says
now.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet, Subquery

from approvals import acting, bell, jsontext
from approvals.models import AuditEntry, AuditLog, Case, Task, User
from approvals.prepared import Addition, Prepared
from approvals.trail import chain

CHAIN_LOCK = 0x636F756E746572  # any number, the same in every process
SEARCH_LIMIT = 4000

last_entry = Prepared(
    lambda: (
        AuditEntry.objects.order_by("-seq")
        .annotate(log=Subquery(AuditLog.objects.order_by("pk").values("origin")[:1]))
        .values_list("seq", "leaf_hash", "log")[:1]
    )
)
new_entries = Addition(AuditEntry)
_verbs: set[str] = set()


def register(*verbs: str) -> None:
    """Make verbs known; `record` refuses others, so that none is misspelled."""
    _verbs.update(verbs)


def verbs() -> list[str]:
    """All verbs of both apps, for filters."""
    return sorted(_verbs)


register(
    "case.opened",
    "case.settled",
    "case.taken",
    "case.sent",
    "case.delivered",
    "case.withdrawn",
    "case.blocked",
    "case.unblocked",
    "case.accepted",
    "case.recalled",
    "task.opened",
    "task.claimed",
    "task.taken_over",
    "task.released",
    "task.set_aside",
    "task.picked_up",
    "task.decided",
    "task.voided",
    "task.flagged",
    "task.result",
    "task.concluded",
    "note.added",
    "exhibit.changed",
    "login.ok",
    "login.failed",
    "user.changed",
    "role.changed",
    "queue.changed",
    "view.changed",
    "token.made",
    "export.made",
)


@transaction.atomic(savepoint=False)
def record(
    verb: str,
    sentence: str,
    *,
    actor: User | None = None,
    actor_kind: str = "system",
    case: Case | None = None,
    task: Task | None = None,
    agent: str = "",
    thread_key: str = "",
    refs: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    policy: str | None = None,
    after: AuditEntry | None = None,
    now: datetime,
) -> AuditEntry:
    """Append one entry. `refs` default to the task's or case's; `data` holds what a reader may want later, no secrets.

    `after`: the entry that this transaction recorded last; the end of the trail is then known and not asked for.
    Raises ValueError for a verb that nobody registered.
    """
    if verb not in _verbs:
        raise ValueError(f"unknown verb {verb!r}")
    case = case or (task.case if task else None)
    about = task or case
    if actor:
        actor_kind = "service" if actor.is_service else "person"
    told = {
        "sentence": sentence,
        "refs": jsontext.dumps(dict(refs)) if refs is not None else (about.refs if about else "{}"),
        "data": jsontext.dumps(dict(data or {})),
    }
    salts = {field: chain.new_salt() for field in told}
    members = {
        "at": chain.moment(now),
        "type": verb,
        "actor": _actor(actor, actor_kind),
        "case": case.code if case else None,
        "task": task.code if task else None,
        "policy": policy,
        "commit": {field: chain.commitment(field, salts[field], chain.stored_bytes(told[field])) for field in told},
    }
    return _append(
        members,
        after,
        at=now,
        verb=verb,
        actor=actor,
        actor_kind=actor_kind,
        case=case,
        task=task,
        agent=agent or (about.agent if about else ""),
        thread_key=thread_key or (about.thread_key if about else ""),
        search_text=_searchable(told, members),
        **told,
        **{f"{field}_salt": salt for field, salt in salts.items()},
    )


def trail_of(case: Case) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(case=case).select_related("actor").order_by("seq")


def lock() -> None:
    """Take the end of the chain, to the end of the transaction. On SQLite the write lock is that already.

    The commit will ring the `bell`: in the same statement, so that it costs no way to the database of its own.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s), pg_notify(%s, '')", [CHAIN_LOCK, bell.CHANNEL])


def _append(members: dict[str, Any], after: AuditEntry | None, **columns: Any) -> AuditEntry:
    seq, prev, log = _end() if after is None else (after.seq, after.leaf_hash, chain.log_of(bytes(after.body)))
    body = chain.write_body({**members, "log": log, "seq": seq + 1, "prev": prev})
    return new_entries.add(AuditEntry(seq=seq + 1, body=body, leaf_hash=chain.leaf_hash(body), **columns))


def _end() -> tuple[int, str, str]:
    """Number and hash of the last entry, and the trail's own name; nobody appends until the transaction ends."""
    lock()
    # A second statement on purpose: its snapshot is younger than the lock (READ COMMITTED).
    last = last_entry.first()
    return last or (0, chain.NOTHING_BEFORE, AuditLog.objects.order_by("pk").values_list("origin", flat=True)[0])


def _actor(actor: User | None, kind: str) -> dict[str, Any] | None:
    if actor is None:
        return None if kind == "system" else {"kind": kind, "id": None, "auth": None, "session": None}
    means = acting.means()
    return {"kind": kind, "id": actor.pseudonym, "auth": means.auth, "session": means.session}


def _searchable(told: Mapping[str, str], members: Mapping[str, Any]) -> str:
    """A lower-case copy that every database takes: an index, no evidence."""
    text = " ".join([told["sentence"], told["refs"], str(members["case"] or ""), str(members["task"] or "")])
    return cleaned(text)[:SEARCH_LIMIT]


def cleaned(text: str) -> str:
    """Foreign text for a search column: lower case, and a space for what PostgreSQL refuses in text."""
    if text.isprintable():  # as nearly all of it is: nothing in it is of these categories
        return text.casefold()
    return "".join(" " if unicodedata.category(char) in ("Cs", "Cc") else char for char in text).casefold()

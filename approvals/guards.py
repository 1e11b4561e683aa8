"""What the database itself refuses: rows that never change, columns that are written once, ends that stay ends.

Migrations call `install`; `missing` lets `verify_audit` notice a dropped trigger. SQLite loses the triggers of a table
that a later migration rebuilds: such a migration must install them again (a test compares `GUARDS` with the database).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Guard:
    """What may still happen to the rows of a table. Nothing else may: no other UPDATE, no DELETE, no TRUNCATE."""

    table: str
    fixed: Sequence[str]  # columns that never change
    once: Sequence[str] = ()  # NULL until written, then fixed
    emptied_later: Sequence[str] = ()  # the same, and they may become empty
    erasable: Sequence[Sequence[str]] = ()  # columns that may become NULL, all of a group at once
    emptied: Sequence[Sequence[str]] = ()  # the same for columns that are never NULL: they may become empty
    ends: tuple[str, Sequence[str]] | None = None  # a column and the values that it never leaves
    message: str = field(default="this row never changes")

    @property
    def names(self) -> list[str]:
        return [f"{self.table}_{what}" for what in ("update", "delete", "replace")]

    def allowed(self, same: str) -> str:
        """The condition under which an UPDATE passes; `same` is the vendor's NULL-safe equality."""
        kept = [f'NEW."{name}" {same} OLD."{name}"' for name in self.fixed]
        kept += [f'(OLD."{name}" IS NULL OR NEW."{name}" {same} OLD."{name}")' for name in self.once]
        kept += [
            f'(OLD."{name}" IS NULL OR NEW."{name}" {same} OLD."{name}" OR coalesce(length(NEW."{name}"), 1) = 0)'
            for name in self.emptied_later
        ]
        for group in self.erasable:
            unchanged = " AND ".join(f'NEW."{name}" {same} OLD."{name}"' for name in group)
            erased = " AND ".join(f'NEW."{name}" IS NULL' for name in group)
            kept.append(f"(({unchanged}) OR ({erased}))")
        for group in self.emptied:
            unchanged = " AND ".join(f'NEW."{name}" {same} OLD."{name}"' for name in group)
            # A condition that is NULL would let everything pass.
            erased = " AND ".join(f'coalesce(length(NEW."{name}"), 1) = 0' for name in group)
            kept.append(f"(({unchanged}) OR ({erased}))")
        if self.ends:
            column, values = self.ends
            listed = ", ".join(f"'{value}'" for value in values)
            kept.append(f'(OLD."{column}" NOT IN ({listed}) OR NEW."{column}" = OLD."{column}")')
        return " AND ".join(kept)


def install(guard: Guard, schema_editor: Any, *, key: str = "id") -> None:
    """Create the guard's triggers on SQLite or PostgreSQL; `key` is the primary key's column."""
    build = {"sqlite": _sqlite, "postgresql": _postgresql}[schema_editor.connection.vendor]
    for statement in build(guard, key):
        schema_editor.execute(statement, params=None)


def remove(guard: Guard, schema_editor: Any) -> None:
    on = f' ON "{guard.table}"' if schema_editor.connection.vendor == "postgresql" else ""
    for name in guard.names:
        schema_editor.execute(f'DROP TRIGGER IF EXISTS "{name}"{on}', params=None)


def missing(guards: Sequence[Guard], connection: Any) -> list[str]:
    """Names of triggers that should be there and are not, or are switched off."""
    query = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(query)
        present = {row[0] for row in cursor.fetchall()}
    return [name for guard in guards for name in guard.names if name not in present]


def _sqlite(guard: Guard, key: str) -> list[str]:
    update, delete, replace = guard.names
    refuse = f"SELECT RAISE(ABORT, '{guard.table}: {guard.message}')"
    return [
        f'CREATE TRIGGER "{update}" BEFORE UPDATE ON "{guard.table}" '
        f"WHEN NOT ({guard.allowed('IS')}) BEGIN {refuse}; END",
        f'CREATE TRIGGER "{delete}" BEFORE DELETE ON "{guard.table}" BEGIN {refuse}; END',
        # INSERT OR REPLACE deletes without a DELETE trigger on connections that lack recursive_triggers.
        f'CREATE TRIGGER "{replace}" BEFORE INSERT ON "{guard.table}" '  # noqa: S608 our own names
        f'WHEN EXISTS (SELECT 1 FROM "{guard.table}" '
        f'WHERE "{key}" = NEW."{key}") BEGIN {refuse}; END',
    ]


def _postgresql(guard: Guard, key: str) -> list[str]:
    update, delete, replace = guard.names
    function = f'"{guard.table}_refuse"()'
    return [
        f"CREATE OR REPLACE FUNCTION {function} RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{guard.table}: {guard.message}'; END $$",
        f'CREATE TRIGGER "{update}" BEFORE UPDATE ON "{guard.table}" FOR EACH ROW '
        f"WHEN (NOT ({guard.allowed('IS NOT DISTINCT FROM')})) EXECUTE FUNCTION {function}",
        f'CREATE TRIGGER "{delete}" BEFORE DELETE ON "{guard.table}" FOR EACH ROW EXECUTE FUNCTION {function}',
        f'CREATE TRIGGER "{replace}" BEFORE TRUNCATE ON "{guard.table}" EXECUTE FUNCTION {function}',
    ]


TRAIL = Guard(
    table="approvals_auditentry",
    fixed=[
        "seq",
        "body",
        "leaf_hash",
        "at",
        "verb",
        "actor_id",
        "actor_kind",
        "case_id",
        "task_id",
        "agent",
        "thread_key",
    ],
    erasable=[["sentence", "sentence_salt"], ["refs", "refs_salt"], ["data", "data_salt"], ["search_text"]],
    message="the trail is append-only",
)
LOG = Guard(table="approvals_auditlog", fixed=["id", "origin"], message="the log keeps its name")
EXHIBIT = Guard(
    table="approvals_exhibit",
    fixed=["id", "task_id", "version", "digest", "frozen_at"],
    emptied=[["body"]],
    message="what was shown never changes",
)
DECISION = Guard(
    table="approvals_decision",
    fixed=[
        "id", "task_id", "by_id", "by_kind", "verdict", "reason_code", "shown_digest", "idempotency_key", "at",
    ],
    once=["recalled_at", "voided_at"],
    erasable=[["answer", "edits", "input"]],
    emptied=[["comment"]],
    message="a decision never changes; it can be recalled or voided once",
)  # fmt: skip
GUARDS = (TRAIL, LOG, EXHIBIT, DECISION)
KEY = Guard(
    table="approvals_publickey",
    fixed=["id", "kid", "purpose", "raw", "published_at"],
    once=["revoked_at"],
    message="a public key is kept for ever",
)
CHECKPOINT = Guard(
    table="approvals_checkpoint",
    fixed=["size", "root", "frontier", "note", "made_at"],
    message="a checkpoint never changes",
)
LATER = (KEY, CHECKPOINT)  # of tables that came after the first migrations
FINDING = Guard(
    table="approvals_finding",
    fixed=["id", "case_id", "seq", "by_id", "at"],
    once=["closed_by_id", "closed_at"],
    emptied_later=["reason"],
    emptied=[["text"]],
    message="a finding never changes; it is closed once",
)
SAMPLE = Guard(
    table="approvals_sample",
    fixed=["id", "seed", "words", "size", "each", "population", "drawn", "by_id", "at"],
    message="a sample stays as it was drawn",
)
SIGHTING = Guard(
    table="approvals_sighting", fixed=["id", "person_id", "task_id", "digest", "at"], message="what was seen was seen"
)
RULE = Guard(
    table="approvals_retentionrule",
    fixed=["id", "queue_id", "agent", "days", "basis", "asked_by_id", "asked_at"],
    once=["agreed_by_id", "agreed_at", "ended_by_id", "ended_at"],
    message="a rule of retention is agreed to and ended, never changed",
)
HOLD = Guard(
    table="approvals_hold",
    fixed=["id", "case_id", "queue_id", "agent", "reason", "by_id", "at"],
    once=["lifted_by_id", "lifted_at", "lifted_because"],
    message="a hold is lifted, never changed",
)
ERASURE = Guard(
    table="approvals_erasure",
    fixed=["id", "case_id", "rule_id", "reason", "basis", "asked_by_id", "asked_at"],
    once=["done_by_id", "done_at", "refused_by_id", "refused_at", "refused_because"],
    message="an erasure is done or refused, never changed",
)
BESIDE = (FINDING, SAMPLE, SIGHTING, RULE, HOLD, ERASURE)  # of what stands beside the trail
ALL = (*GUARDS, *LATER, *BESIDE)

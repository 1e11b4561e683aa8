"""An index over the text of the trail: a rare word in a million entries is found at once.

It knows every three letters that stand together (trigrams), for people search for parts of names, ids and codes, in
any script. It only narrows: `trailsearch` still compares every entry. On PostgreSQL the planner takes it by itself; on
SQLite `narrowed` asks it. Without it (no FTS5, no right to add pg_trgm) and for shorter words, search reads the trail.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import DatabaseError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from approvals.models import AuditEntry

INDEX = "approvals_auditentry_words"
RARE = 20_000  # up to so many entries it is quicker to fetch them than to walk back along the trail
ASKED = 64  # trigrams asked for at most: more do not narrow further

SQLITE = (
    # detail=none: no positions, a third of the size; the comparison of whole words is not the index's business.
    """CREATE VIRTUAL TABLE approvals_auditentry_words USING fts5(
        search_text, content='approvals_auditentry', content_rowid='seq', tokenize='trigram case_sensitive 1',
        detail=none, columnsize=0)""",
    """CREATE TRIGGER approvals_auditentry_words_insert AFTER INSERT ON approvals_auditentry
        WHEN NEW.search_text IS NOT NULL BEGIN
            INSERT INTO approvals_auditentry_words (rowid, search_text) VALUES (NEW.seq, NEW.search_text);
        END""",
    """CREATE TRIGGER approvals_auditentry_words_erase AFTER UPDATE OF search_text ON approvals_auditentry
        WHEN OLD.search_text IS NOT NULL AND NEW.search_text IS NULL BEGIN
            INSERT INTO approvals_auditentry_words (approvals_auditentry_words, rowid, search_text)
            VALUES ('delete', OLD.seq, OLD.search_text);
        END""",
    "INSERT INTO approvals_auditentry_words (approvals_auditentry_words) VALUES ('rebuild')",
)
POSTGRESQL = (
    "SET LOCAL statement_timeout = 0",  # a long trail takes longer than any request may
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX approvals_auditentry_words ON approvals_auditentry USING gin (search_text gin_trgm_ops)",
)
REMOVE = {
    "sqlite": (
        "DROP TRIGGER approvals_auditentry_words_insert",
        "DROP TRIGGER approvals_auditentry_words_erase",
        "DROP TABLE approvals_auditentry_words",
    ),
    "postgresql": ("DROP INDEX IF EXISTS approvals_auditentry_words",),
}
FOUND = "SELECT rowid FROM approvals_auditentry_words WHERE approvals_auditentry_words MATCH %s"


def install(database: BaseDatabaseWrapper) -> bool:
    """Whether this database could make the index; all of it or nothing."""
    try:
        _run(database, {"sqlite": SQLITE, "postgresql": POSTGRESQL}[database.vendor])
    except DatabaseError:
        return False
    return True


def remove(database: BaseDatabaseWrapper) -> None:
    if database.vendor == "postgresql" or is_there():
        _run(database, REMOVE[database.vendor])


def _run(database: BaseDatabaseWrapper, statements: Sequence[str]) -> None:
    with transaction.atomic(using=database.alias), database.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def is_there() -> bool:
    """Whether SQLite has the index; elsewhere it is the planner's business."""
    if connection.vendor != "sqlite":
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM sqlite_master WHERE name = %s", [INDEX])
        return cursor.fetchone() is not None


def narrowed(entries: QuerySet[AuditEntry], words: Sequence[str]) -> QuerySet[AuditEntry]:
    """Fewer entries to compare with `words`, none of them left out that has them all."""
    asked = trigrams(words)
    if not asked or not is_there():
        return entries
    match = " ".join('"' + three.replace('"', '""') + '"' for three in asked)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({FOUND} LIMIT %s)", [match, RARE + 1])  # noqa: S608 - our own words
        if cursor.fetchone()[0] <= RARE:
            return entries.filter(seq__in=RawSQL(FOUND, [match]))  # noqa: S611 - the match is bound
        # Too many to fetch; but nothing younger than the youngest needs to be read.
        cursor.execute(f"{FOUND} ORDER BY rowid DESC LIMIT 1", [match])
        return entries.filter(seq__lte=cursor.fetchone()[0])


def trigrams(words: Sequence[str]) -> list[str]:
    """The different ones of all words, in their order; [] when every word is shorter."""
    all_of_them = [word[start : start + 3] for word in words for start in range(len(word) - 2)]
    return list(dict.fromkeys(all_of_them))[:ASKED]

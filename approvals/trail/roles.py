"""Rights inside PostgreSQL, for desks whose processes do not own their tables (`audit.md` D.6).

The owner migrates and does nothing else. The processes' role can write rows of the record and never change or remove
them; the auditors' role reads the record, and no secrets. Triggers refuse the owner too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from approvals.guards import Guard


def grants(
    guards: Sequence[Guard], connection: Any, *, app: str, auditor: str | None, beside: Mapping[str, Sequence[str]]
) -> Iterator[str]:  # fmt: skip
    """The statements, in order. Names are quoted; run them as the owner, after each migration.

    `beside`: columns of other tables that the record is held against, for whoever verifies it; none named: all.
    """
    quote = connection.ops.quote_name
    yield f"GRANT USAGE ON SCHEMA public TO {quote(app)}"
    yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {quote(app)}"
    yield f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {quote(app)}"
    if auditor:
        yield f"GRANT USAGE ON SCHEMA public TO {quote(auditor)}"
    for table, names in beside.items() if auditor else ():
        columns = f" ({', '.join(map(quote, names))})" if names else ""
        yield f"GRANT SELECT{columns} ON {quote(table)} TO {quote(auditor)}"
    for guard in guards:
        table = quote(guard.table)
        yield f"REVOKE UPDATE, DELETE, TRUNCATE ON {table} FROM {quote(app)}"
        free = [quote(name) for name in _columns(guard, connection) if name not in guard.fixed]
        if free:
            yield f"GRANT UPDATE ({', '.join(free)}) ON {table} TO {quote(app)}"
        if auditor:
            yield f"GRANT SELECT ON {table} TO {quote(auditor)}"


def _columns(guard: Guard, connection: Any) -> list[str]:
    with connection.cursor() as cursor:
        return [column.name for column in connection.introspection.get_table_description(cursor, guard.table)]

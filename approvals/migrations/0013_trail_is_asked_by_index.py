"""Every way to ask the trail reads an index that ends with the entry's number; those that none needs go.

Indexes only. Django would copy the whole table on SQLite for a column that loses its index, and the triggers of the
trail with it: so the old ones are dropped by name, and the state is told.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import migrations, models

OLD = ("at_77ea7d37", "actor_id_efa8b932", "case_id_48160c77", "task_id_8d0540fe")  # as Django named them


def take_your_time(apps: Any, schema_editor: Any) -> None:
    """A long trail takes longer than any request may."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("SET LOCAL statement_timeout = 0", params=None)


def dropped(name: str) -> migrations.RunSQL:
    index, column = f"approvals_auditentry_{name}", name.rpartition("_")[0]
    return migrations.RunSQL(
        f'DROP INDEX IF EXISTS "{index}"', f'CREATE INDEX "{index}" ON "approvals_auditentry" ("{column}")'
    )


KEY = {"null": True, "on_delete": models.DO_NOTHING, "db_constraint": False, "db_index": False}
STATE = {
    "at": models.DateTimeField(),
    "actor": models.ForeignKey(to=settings.AUTH_USER_MODEL, related_name="+", **KEY),
    "case": models.ForeignKey(to="approvals.case", related_name="entries", **KEY),
    "task": models.ForeignKey(to="approvals.task", related_name="entries", **KEY),
}
NEW = {name: [column, "seq"] for name, column in (
    ("entry_at", "at"), ("entry_task", "task"), ("entry_agent", "agent"), ("entry_thread", "thread_key"))}


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0012_whole_text_first'),
    ]

    operations = [
        migrations.RunPython(take_your_time, take_your_time),
        migrations.RemoveIndex("auditentry", "entry_thread"),
        migrations.SeparateDatabaseAndState(
            database_operations=[dropped(name) for name in OLD],
            state_operations=[migrations.AlterField("auditentry", name, column) for name, column in STATE.items()],
        ),
        *(migrations.AddIndex("auditentry", models.Index(fields=on, name=name)) for name, on in NEW.items()),
    ]

"""The id of a prepared attempt may be a caller's own, and so as long and as odd as ids are."""

from __future__ import annotations

from typing import Any

from django.db import migrations

import approvals.fields


def to_bytes(apps: Any, schema_editor: Any) -> None:
    """SQLite keeps bytes in a column of text as they are: there nothing has to change."""
    _change_type(schema_editor, "bytea", "convert_to(next_run_id, 'UTF8')")


def to_text(apps: Any, schema_editor: Any) -> None:
    _change_type(schema_editor, "varchar(64)", "convert_from(next_run_id, 'UTF8')")


def _change_type(schema_editor: Any, kind: str, using: str) -> None:
    if schema_editor.connection.vendor == "postgresql":
        column = "ALTER TABLE agentbridge_resume ALTER COLUMN next_run_id"
        schema_editor.execute(f"{column} TYPE {kind} USING {using}")


class Migration(migrations.Migration):
    dependencies = [("agentbridge", "0010_agents_are_probed")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(to_bytes, to_text)],
            state_operations=[
                migrations.AlterField(
                    "resume", "next_run_id", approvals.fields.OpaqueTextField(default="", editable=False)
                )
            ],
        )
    ]

"""The database refuses to change the trail, what was shown and what was decided; the log gets its random name."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

from django.db import migrations

from approvals import guards


def install(apps: Any, schema_editor: Any) -> None:
    for guard in guards.GUARDS:
        guards.install(as_of_now(guard, schema_editor), schema_editor, key="seq" if guard is guards.TRAIL else "id")


def as_of_now(guard: guards.Guard, schema_editor: Any) -> guards.Guard:
    """Without the columns that later migrations add; those install the guard again."""
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        there = {column.name for column in connection.introspection.get_table_description(cursor, guard.table)}
    erasable = [[name for name in group if name in there] for group in guard.erasable]
    return replace(
        guard,
        fixed=[name for name in guard.fixed if name in there],
        once=[name for name in guard.once if name in there],
        erasable=[group for group in erasable if group],
    )


def remove(apps: Any, schema_editor: Any) -> None:
    for guard in guards.GUARDS:
        guards.remove(guard, schema_editor)


def name_the_log(apps: Any, schema_editor: Any) -> None:
    apps.get_model("approvals", "AuditLog").objects.create(origin="log_" + secrets.token_hex(12))


class Migration(migrations.Migration):
    dependencies = [("approvals", "0001_initial")]

    operations = [
        migrations.RunPython(name_the_log, migrations.RunPython.noop),
        migrations.RunPython(install, remove),
    ]

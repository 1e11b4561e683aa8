"""Decisions on tasks of one agent, thread or tool are found without reading every task."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

from approvals.fields import Start


def take_your_time(apps: Any, schema_editor: Any) -> None:
    """Many tasks take longer than any request may."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("SET LOCAL statement_timeout = 0", params=None)


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0013_trail_is_asked_by_index'),
    ]

    operations = [
        migrations.RunPython(take_your_time, take_your_time),
        migrations.RemoveIndex("task", "task_thread"),
        migrations.AddIndex("task", models.Index(fields=["thread_key", "agent"], name="task_thread")),
        migrations.AddIndex("task", models.Index(fields=["agent"], name="task_agent")),
        migrations.AddIndex("task", models.Index(Start("tool"), name="task_tool")),
    ]

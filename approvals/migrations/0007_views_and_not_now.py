"""Saved views, “not now”, and what a queue's row needs of the exhibit without reading it."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import approvals.fields
from approvals import jsontext

ROLES = [("reviewer", "reviewer"), ("operator", "operator"), ("auditor", "auditor"), ("admin", "admin")]
BATCH = 500


def index_exhibits(apps: Any, schema_editor: Any) -> None:
    """Fill the new columns of the tasks there are from what was frozen for them."""
    Task, Exhibit = apps.get_model("approvals", "Task"), apps.get_model("approvals", "Exhibit")
    tasks: list[Any] = []
    for task in Task.objects.only("pk", "shown_digest").order_by("pk").iterator(BATCH):
        body = Exhibit.objects.filter(task=task, digest=task.shown_digest).values_list("body", flat=True).first()
        told = jsontext.loads(body) if body else {}
        task.agent_name, task.reason = told.get("agentName") or "", told.get("reason") or ""
        tasks.append(task)
        if len(tasks) == BATCH:
            Task.objects.bulk_update(tasks, ["agent_name", "reason"])
            tasks = []
    Task.objects.bulk_update(tasks, ["agent_name", "reason"])


class Migration(migrations.Migration):
    dependencies = [("approvals", "0006_public_keys_and_checkpoints")]

    operations = [
        migrations.AddField("task", "agent_name", approvals.fields.OpaqueTextField(default="", editable=False)),
        migrations.AddField("task", "reason", approvals.fields.OpaqueTextField(default="", editable=False)),
        migrations.RemoveIndex("task", "task_queue"),
        migrations.AddIndex(
            "task",
            models.Index(
                condition=models.Q(("state", "open")), fields=["queue", "due_at", "id", "agent"], name="task_waiting"
            ),
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(blank=True, max_length=2000)),
                ("shared", models.BooleanField(default=False)),
                ("first_for", models.CharField(blank=True, choices=ROLES, default="", max_length=10)),
                ("made_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="views",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "name"), name="one_view_of_a_name"),
                    models.UniqueConstraint(
                        condition=models.Q(("first_for", ""), _negated=True),
                        fields=("first_for",),
                        name="one_first_view_of_a_role",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("first_for", ""), ("shared", True), _connector="OR"),
                        name="first_view_is_shared",
                    ),
                ]
            },
        ),
        migrations.CreateModel(
            name="FirstView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="first_view",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "view",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="approvals.savedview"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SetAside",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("until", models.DateTimeField()),
                ("note", approvals.fields.OpaqueTextField(default="", editable=False)),
                ("at", models.DateTimeField()),
                (
                    "task",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="set_asides", to="approvals.task"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="set_asides",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("user", "task"), name="set_aside_once")],
            },
        ),
        migrations.RunPython(index_exhibits, migrations.RunPython.noop),
    ]

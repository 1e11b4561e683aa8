"""The public halves of our keys and the signed states of the trail; both are there for good."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

import approvals.fields
from approvals import guards


def install(apps: Any, schema_editor: Any) -> None:
    for guard in guards.LATER:
        guards.install(guard, schema_editor, key="size" if guard is guards.CHECKPOINT else "id")


def remove(apps: Any, schema_editor: Any) -> None:
    for guard in guards.LATER:
        guards.remove(guard, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("approvals", "0005_reasons_drafts_notes")]

    operations = [
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                ("size", models.BigIntegerField(primary_key=True, serialize=False)),
                ("root", models.CharField(max_length=64)),
                ("frontier", models.TextField()),
                ("note", models.TextField()),
                ("made_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="PublicKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kid", models.CharField(max_length=40, unique=True)),
                (
                    "purpose",
                    models.CharField(
                        choices=[("decision", "Decision"), ("checkpoint", "Checkpoint")], max_length=10
                    ),
                ),
                ("raw", approvals.fields.BytesField()),
                ("published_at", models.DateTimeField()),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.RunPython(install, remove),
    ]

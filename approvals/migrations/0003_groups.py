"""The four groups that rights hang on."""

from __future__ import annotations

from typing import Any

from django.db import migrations


def create(apps: Any, schema_editor: Any) -> None:
    for name in ("reviewer", "operator", "auditor", "admin"):
        apps.get_model("auth", "Group").objects.get_or_create(name=name)


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0002_trail_is_append_only"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunPython(create, migrations.RunPython.noop)]

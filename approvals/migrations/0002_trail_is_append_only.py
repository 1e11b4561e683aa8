"""The database refuses to change the trail, what was shown and what was decided; the log gets its random name."""

from __future__ import annotations

import secrets
from typing import Any

from django.db import migrations

from approvals import guards


def install(apps: Any, schema_editor: Any) -> None:
    for guard in guards.GUARDS:
        guards.install(guard, schema_editor, key="seq" if guard is guards.TRAIL else "id")


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

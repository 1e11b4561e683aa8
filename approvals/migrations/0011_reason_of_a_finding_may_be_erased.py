"""Why a finding was closed may quote what was erased: it goes too."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from approvals import guards


def install(apps: Any, schema_editor: Any) -> None:
    guards.remove(guards.FINDING, schema_editor)
    guards.install(guards.FINDING, schema_editor)


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0010_what_waits_is_counted_by_index'),
    ]

    operations = [migrations.RunPython(install, migrations.RunPython.noop)]

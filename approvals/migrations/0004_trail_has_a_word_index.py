"""Searching a long trail is quick: an index over its text, on either database."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from approvals.trail import trailindex


def install(apps: Any, schema_editor: Any) -> None:
    trailindex.install(schema_editor.connection)


def remove(apps: Any, schema_editor: Any) -> None:
    trailindex.remove(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("approvals", "0003_groups")]

    operations = [migrations.RunPython(install, remove)]

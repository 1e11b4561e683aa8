"""The database refuses to change sealed resumes, ended deliveries and raw streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.db import migrations

from agentbridge import guards
from approvals.guards import install, remove

LATER = ("messages",)  # guarded by the migration that adds it
EMPTIED = [[name for name in group if name not in LATER] for group in guards.RESUME.emptied]
GUARDS = (replace(guards.RESUME, emptied=EMPTIED), guards.CHUNK)


def guard(apps: Any, schema_editor: Any) -> None:
    for each in GUARDS:
        install(each, schema_editor)


def unguard(apps: Any, schema_editor: Any) -> None:
    for each in GUARDS:
        remove(each, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("agentbridge", "0002_initial")]

    operations = [migrations.RunPython(guard, unguard)]

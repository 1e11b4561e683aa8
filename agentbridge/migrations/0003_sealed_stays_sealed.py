"""The database refuses to change sealed resumes, ended deliveries and raw streams."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from agentbridge import guards
from approvals.guards import install, remove


def guard(apps: Any, schema_editor: Any) -> None:
    for each in guards.GUARDS:
        install(each, schema_editor)


def unguard(apps: Any, schema_editor: Any) -> None:
    for each in guards.GUARDS:
        remove(each, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("agentbridge", "0002_initial")]

    operations = [migrations.RunPython(guard, unguard)]

"""What was sealed and what was streamed can be erased, and still never changed."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from agentbridge.guards import GUARDS
from approvals.guards import install, remove


def guard_anew(apps: Any, schema_editor: Any) -> None:
    for guard in GUARDS:
        remove(guard, schema_editor)
        install(guard, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("agentbridge", "0007_receipts")]

    operations = [migrations.RunPython(guard_anew, migrations.RunPython.noop)]

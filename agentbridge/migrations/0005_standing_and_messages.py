"""How long a replay class holds, and answers that leave as messages, sealed with the rest."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models
from django.db.models import F

import approvals.fields
from agentbridge.guards import RESUME
from approvals.guards import install, remove


def unguard(apps: Any, schema_editor: Any) -> None:
    remove(RESUME, schema_editor)


def guard(apps: Any, schema_editor: Any) -> None:
    install(RESUME, schema_editor)


def prove_from_the_start(apps: Any, schema_editor: Any) -> None:
    """A class that was set before its day was kept counts from the agent's registration."""
    agents = apps.get_model("agentbridge", "Agent").objects.using(schema_editor.connection.alias)
    agents.exclude(replay_class="unknown").update(replay_set_at=F("created_at"))


class Migration(migrations.Migration):
    dependencies = [("agentbridge", "0004_protocol_report")]

    operations = [
        migrations.AddField("agent", "replay_set_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("agent", "replay_server", models.CharField(blank=True, max_length=200, null=True)),
        migrations.AddField("agent", "replay_lapsed_at", models.DateTimeField(blank=True, null=True)),
        migrations.RunPython(prove_from_the_start, migrations.RunPython.noop),
        migrations.RunPython(unguard, guard),
        migrations.AddField("resume", "messages", approvals.fields.BytesField(default=b"", editable=False)),
        migrations.RunPython(guard, unguard),
    ]

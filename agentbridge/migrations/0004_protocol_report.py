"""The protocol report of an agent, and where it publishes what it can do."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import approvals.fields


class Migration(migrations.Migration):
    dependencies = [("agentbridge", "0003_sealed_stays_sealed")]

    operations = [
        migrations.AddField("agent", "capabilities_url", models.URLField(blank=True, default="", max_length=2000)),
        migrations.AddField("run", "warnings_counted", models.PositiveIntegerField(default=0)),
        migrations.CreateModel(
            name="ProtocolNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("rule", models.CharField(max_length=40)),
                ("severity", models.CharField(max_length=8)),
                ("count", models.PositiveBigIntegerField(default=0)),
                ("where", approvals.fields.OpaqueTextField(default="", editable=False)),
                ("text", approvals.fields.OpaqueTextField(default="", editable=False)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="protocol_notes",
                        to="agentbridge.agent",
                    ),
                ),
                (
                    "last_run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="agentbridge.run"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("agent", "rule", "severity"), name="one_note_per_rule")
                ],
            },
        ),
    ]

"""Who talks to the agent in a run: the bridge, the relay, or the agent's own host."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agentbridge", "0005_standing_and_messages")]

    operations = [
        migrations.AddField(
            "run",
            "way",
            models.CharField(
                choices=[("bridge", "by the bridge"), ("relay", "through the relay"), ("push", "by the host")],
                default="bridge",
                max_length=6,
            ),
        ),
    ]

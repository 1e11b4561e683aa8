"""Where an agent's owner keeps a trace of a run."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agentbridge", "0012_two_send_again"),
    ]

    operations = [
        migrations.AddField("agent", "trace_url", models.CharField(blank=True, default="", max_length=2000)),
    ]

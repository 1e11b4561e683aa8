"""A run keeps its lease until its answer is read to the end, and who was lost on reading it again is counted."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [
        ("agentbridge", "0013_agents_keep_traces"),
    ]

    operations = [
        migrations.AddField("run", "lost_readers", models.PositiveSmallIntegerField(default=0)),
        migrations.RemoveIndex("run", "run_lease"),
        migrations.AddIndex(
            "run", models.Index(fields=["lease_until"], condition=Q(lease_until__isnull=False), name="run_lease")
        ),
    ]

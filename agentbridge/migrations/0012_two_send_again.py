"""Who asked to send answers again, where it takes a second person."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("agentbridge", "0011_next_run_id_may_be_any_text"),
    ]

    operations = [
        migrations.AddField(
            "resume",
            "resend_asked_by",
            models.ForeignKey(
                blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
    ]

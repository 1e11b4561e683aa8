"""Whether answers that come through the relay count as decisions."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agentbridge", "0008_content_can_be_erased")]

    operations = [
        migrations.AddField(model_name="agent", name="caller_decides", field=models.BooleanField(default=False)),
    ]

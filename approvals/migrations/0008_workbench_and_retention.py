"""Questions, samples and findings beside the trail; what may be erased, what is held, and who saw what."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import approvals.fields
from approvals import guards

CONTENT = (guards.EXHIBIT, guards.DECISION)  # their texts may be erased from here on


def install(apps: Any, schema_editor: Any) -> None:
    for guard in CONTENT:
        guards.remove(guard, schema_editor)
    for guard in (*CONTENT, *guards.BESIDE):
        guards.install(guard, schema_editor)


def remove(apps: Any, schema_editor: Any) -> None:
    for guard in guards.BESIDE:
        guards.remove(guard, schema_editor)


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0007_views_and_not_now'),
    ]

    operations = [
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField()),
                ('basis', models.TextField()),
                ('asked_at', models.DateTimeField()),
                ('done_at', models.DateTimeField(null=True)),
                ('refused_at', models.DateTimeField(null=True)),
                ('refused_because', models.TextField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Finding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField(null=True)),
                ('text', approvals.fields.OpaqueTextField(editable=False)),
                ('at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(null=True)),
                ('reason', approvals.fields.OpaqueTextField(editable=False, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('agent', models.CharField(blank=True, default='', max_length=100)),
                ('reason', models.TextField()),
                ('at', models.DateTimeField()),
                ('lifted_at', models.DateTimeField(null=True)),
                ('lifted_because', models.TextField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='RetentionRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('agent', models.CharField(blank=True, default='', max_length=100)),
                ('days', models.PositiveIntegerField()),
                ('basis', models.TextField()),
                ('asked_at', models.DateTimeField()),
                ('agreed_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Sample',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seed', models.CharField(max_length=100)),
                ('words', models.TextField(blank=True, default='')),
                ('size', models.PositiveIntegerField()),
                ('each', models.CharField(blank=True, choices=[('', 'all together'), ('person', 'each reviewer'), ('queue', 'each queue'), ('tool', 'each tool')], default='', max_length=8)),
                ('population', models.PositiveIntegerField()),
                ('drawn', models.JSONField()),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='SavedQuestion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80)),
                ('words', models.TextField(blank=True, default='')),
                ('shared', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Sighting',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64)),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.AddIndex(
            model_name='decision',
            index=models.Index(fields=['at'], name='decision_at'),
        ),
        migrations.AddField(
            model_name='erasure',
            name='asked_by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='erasure',
            name='case',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='erasures', to='approvals.case'),
        ),
        migrations.AddField(
            model_name='erasure',
            name='done_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='erasure',
            name='refused_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='finding',
            name='by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='findings', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='finding',
            name='case',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='findings', to='approvals.case'),
        ),
        migrations.AddField(
            model_name='finding',
            name='closed_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='hold',
            name='by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='hold',
            name='case',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='holds', to='approvals.case'),
        ),
        migrations.AddField(
            model_name='hold',
            name='lifted_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='hold',
            name='queue',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.queue'),
        ),
        migrations.AddField(
            model_name='retentionrule',
            name='agreed_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='retentionrule',
            name='asked_by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='retentionrule',
            name='ended_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='retentionrule',
            name='queue',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.queue'),
        ),
        migrations.AddField(
            model_name='erasure',
            name='rule',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='erasures', to='approvals.retentionrule'),
        ),
        migrations.AddField(
            model_name='sample',
            name='by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='samples', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='savedquestion',
            name='owner',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questions', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='sighting',
            name='person',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='sighting',
            name='task',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sightings', to='approvals.task'),
        ),
        migrations.AddIndex(
            model_name='finding',
            index=models.Index(fields=['closed_at', 'id'], name='finding_open'),
        ),
        migrations.AddConstraint(
            model_name='hold',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('agent', ''), ('case__isnull', False), ('queue__isnull', True)), models.Q(('agent', ''), ('case__isnull', True), ('queue__isnull', False)), models.Q(('case__isnull', True), ('queue__isnull', True), models.Q(('agent', ''), _negated=True)), _connector='OR'), name='hold_one_thing'),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.UniqueConstraint(condition=models.Q(('done_at__isnull', True), ('refused_at__isnull', True)), fields=('case',), name='one_erasure_asked'),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.UniqueConstraint(condition=models.Q(('done_at__isnull', False)), fields=('case',), name='one_erasure_done'),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.CheckConstraint(condition=models.Q(('done_by__isnull', True), models.Q(('done_by', models.F('asked_by')), _negated=True), _connector='OR'), name='erasure_four_eyes'),
        ),
        migrations.AddConstraint(
            model_name='savedquestion',
            constraint=models.UniqueConstraint(fields=('owner', 'name'), name='one_question_name'),
        ),
        migrations.AddConstraint(
            model_name='sighting',
            constraint=models.UniqueConstraint(fields=('task', 'person', 'digest'), name='one_sighting'),
        ),
        migrations.RunPython(install, remove),
    ]

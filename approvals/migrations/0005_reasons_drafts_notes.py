"""Reasons that can be counted, drafts, notes, who is reading, and how each person's desk is set up."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import approvals.fields
from approvals import guards


def unguard(apps: Any, schema_editor: Any) -> None:
    guards.remove(guards.DECISION, schema_editor)


def guard(apps: Any, schema_editor: Any) -> None:
    """SQLite lost the triggers with the table it rebuilt; PostgreSQL's do not know the new column yet."""
    guards.install(guards.DECISION, schema_editor)


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0004_trail_has_a_word_index'),
    ]

    operations = [
        migrations.RunPython(unguard, migrations.RunPython.noop),
        migrations.AddField(
            model_name='decision',
            name='reason_code',
            field=models.CharField(blank=True, default='', max_length=40),
        ),
        migrations.RunPython(guard, unguard),
        migrations.AddField(
            model_name='queue',
            name='reason_codes',
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name='queue',
            name='reason_length',
            field=models.PositiveSmallIntegerField(default=1),
        ),
        migrations.AddField(
            model_name='user',
            name='keys',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name='user',
            name='keys_on',
            field=models.BooleanField(default=True),
        ),
        migrations.AddField(
            model_name='user',
            name='language',
            field=models.CharField(blank=True, default='', max_length=8),
        ),
        migrations.AddField(
            model_name='user',
            name='time_zone',
            field=models.CharField(default='UTC', max_length=64),
        ),
        migrations.AddField(
            model_name='user',
            name='unread_mentions',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='user',
            name='wants_notices',
            field=models.BooleanField(default=False),
        ),
        migrations.CreateModel(
            name='Note',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', approvals.fields.OpaqueTextField(editable=False)),
                ('at', models.DateTimeField()),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='notes', to=settings.AUTH_USER_MODEL)),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='notes', to='approvals.task')),
            ],
        ),
        migrations.CreateModel(
            name='Draft',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fields', approvals.fields.OpaqueTextField(editable=False)),
                ('shown_digest', models.CharField(max_length=64)),
                ('saved_at', models.DateTimeField()),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='drafts', to='approvals.task')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='drafts', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'task'), name='one_draft')],
            },
        ),
        migrations.CreateModel(
            name='Mention',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seen_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to=settings.AUTH_USER_MODEL)),
                ('note', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to='approvals.note')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('note', 'user'), name='one_mention')],
            },
        ),
        migrations.CreateModel(
            name='Reading',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('case', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='readings', to='approvals.case')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'case'), name='one_reading')],
            },
        ),
    ]

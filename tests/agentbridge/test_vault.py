"""Agents' credentials are unreadable in the database and survive a change of keys."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils.timezone import now

from agentbridge import vault
from agentbridge.models import Agent
from approvals.models import Queue

SECRET = '[["Authorization","Bearer s3cret"]]'


def test_the_same_text_twice_looks_different():
    assert vault.encrypt("x") != vault.encrypt("x")
    assert vault.decrypt(vault.encrypt("ümlaut")) == "ümlaut"


def test_a_new_key_reads_what_the_old_one_wrote(settings):
    old, new = settings.FIELD_KEYS[0], b"n" * 32
    token = vault.encrypt("x")
    settings.FIELD_KEYS = [new, old]
    rotated = vault.rotate(token)
    settings.FIELD_KEYS = [new]
    assert vault.decrypt(rotated) == "x"
    with pytest.raises(vault.Unreadable) as problem:
        vault.decrypt(token)
    assert token not in str(problem.value)


@pytest.mark.django_db
def test_the_column_holds_no_clear_text():
    queue = Queue.objects.create(name="payments")
    facts = {"slug": "a", "name": "A", "url": "https://a.example", "queue": queue, "created_at": now()}
    agent = Agent.objects.create(**facts, headers=SECRET)
    with connection.cursor() as cursor:
        cursor.execute("SELECT headers FROM agentbridge_agent")
        stored = cursor.fetchone()[0]
    agent.refresh_from_db()
    assert "s3cret" not in stored and agent.headers == SECRET


@pytest.mark.django_db
def test_nothing_stored_stays_nothing():
    queue = Queue.objects.create(name="payments")
    Agent.objects.create(slug="a", name="A", url="https://a.example", queue=queue, created_at=now())
    assert Agent.objects.filter(headers="").exists()

"""Agents' credentials are unreadable in the database and survive a change of keys."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils.timezone import now

from agentbridge import vault
from agentbridge.models import Agent
from approvals.models import Queue

SECRET = '[["Authorization","Bearer s3cret"]]'


def test_the_same_text_twice_looks_different():
    assert vault.encrypt("x") != vault.encrypt("x")
    assert vault.decrypt(vault.encrypt("ümlaut")) == "ümlaut"


def test_a_new_key_reads_what_the_old_one_wrote_while_both_are_there(settings):
    old, new = settings.FIELD_KEYS[0], b"n" * 32
    token = vault.encrypt("x")
    settings.FIELD_KEYS = [new, old]
    assert vault.decrypt(token) == "x"
    settings.FIELD_KEYS = [new]
    with pytest.raises(vault.Unreadable) as problem:
        vault.decrypt(token)
    assert token not in str(problem.value)


@pytest.fixture
def agent(payments: Queue) -> Agent:
    facts = {"slug": "a", "name": "A", "url": "https://a.example", "queue": payments, "created_at": now()}
    return Agent.objects.create(**facts, headers=SECRET)


def test_once_all_are_encrypted_anew_the_old_key_can_go(agent, settings):
    new, old = b"n" * 32, settings.FIELD_KEYS[0]
    settings.FIELD_KEYS = [new, old]
    call_command("reencrypt_headers")
    settings.FIELD_KEYS = [new]
    agent.refresh_from_db()
    assert agent.headers == SECRET


def test_without_the_key_that_wrote_them_headers_stay_as_they_are(agent, settings):
    old, settings.FIELD_KEYS = settings.FIELD_KEYS, [b"n" * 32]
    with pytest.raises(CommandError, match="FIELD_KEY"):
        call_command("reencrypt_headers")
    settings.FIELD_KEYS = old
    agent.refresh_from_db()
    assert agent.headers == SECRET


def test_the_column_holds_no_clear_text(agent):
    with connection.cursor() as cursor:
        cursor.execute("SELECT headers FROM agentbridge_agent")
        stored = cursor.fetchone()[0]
    agent.refresh_from_db()
    assert "s3cret" not in stored and agent.headers == SECRET


def test_nothing_stored_stays_nothing(payments):
    Agent.objects.create(slug="a", name="A", url="https://a.example", queue=payments, created_at=now())
    assert Agent.objects.filter(headers="").exists()

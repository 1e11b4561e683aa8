"""Inside PostgreSQL the desk's own role can add to the record and not change it (R-36)."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from approvals import audit
from approvals.models import AuditEntry

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]
REFUSED = [
    "UPDATE approvals_auditentry SET body = ''",
    "DELETE FROM approvals_auditentry",
    "TRUNCATE approvals_auditentry",
    "ALTER TABLE approvals_auditentry DISABLE TRIGGER ALL",
    "SET session_replication_role = replica",
    "DROP TRIGGER approvals_auditentry_update ON approvals_auditentry",
    "UPDATE approvals_decision SET verdict = 'rejected'",
    "DELETE FROM agentbridge_streamchunk",
    "UPDATE agentbridge_resume SET sha256 = ''",
]


@pytest.fixture
def roles(request):
    """Of this module alone: roles belong to the whole server, and other modules are tested beside it."""
    names = [f"{who}_of_{request.module.__name__.rpartition('.')[2]}" for who in ("desk", "auditor")]
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"CREATE ROLE {name}")
    call_command("grant_roles", "--app", names[0], "--auditor", names[1], verbosity=0)
    audit.record("login.ok", "Somebody signed in.", now=timezone.now())
    yield names
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


@pytest.mark.parametrize("sql", REFUSED)
def test_the_desks_role_is_refused(roles, sql):
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {roles[0]}")
        cursor.execute(sql)


def test_the_desks_role_records_and_erases(roles):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {roles[0]}")
        audit.record("login.ok", "Somebody else signed in.", now=timezone.now())
        cursor.execute("UPDATE approvals_auditentry SET sentence = NULL, sentence_salt = NULL WHERE seq = 1")
    assert AuditEntry.objects.count() == 2


def test_auditors_read_the_record_and_no_secrets(roles):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {roles[1]}")
        cursor.execute("SELECT count(*) FROM approvals_auditentry")
        assert cursor.fetchone() == (1,)
        with pytest.raises(DatabaseError), transaction.atomic():
            cursor.execute("SELECT password FROM approvals_user")


@pytest.mark.parametrize("sql", REFUSED[:3])
def test_the_owner_is_refused_by_triggers(roles, sql):
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


def test_a_role_that_is_none_is_named_with_what_makes_it():
    with pytest.raises(CommandError, match=r"nobody_at_all.*createuser ROLE"):
        call_command("grant_roles", "--app", "nobody_at_all", verbosity=0)

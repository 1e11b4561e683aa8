"""The whole round is good, and whoever changes what was sealed is found."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection, transaction

from agentbridge import guards
from agentbridge.models import Resume, StreamChunk
from agentbridge.record import verifying
from approvals.guards import missing
from approvals.trail import verification
from tests.bridge_work import paused_case, register, work
from tests.emptying import guards_off
from tests.people import decide, only_task
from tests.scripted_agent import finishing, pausing

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def resume(script, alice):
    """Sealed, delivered and finished."""
    case = paused_case(register(script(pausing(), finishing())), alice)
    decide(only_task(case), alice)
    work()
    return Resume.objects.get()


def found() -> list[str]:
    return [finding.sentence for finding in verification.verify(checks=[verifying.checks]).findings]


def tamper(sql: str, *params: object) -> None:
    with transaction.atomic(), guards_off(), connection.cursor() as cursor:
        cursor.execute(sql, params)


def test_whole_round_is_good(resume):
    assert found() == []


@pytest.mark.parametrize(
    ("sql", "params", "sentence"),
    [
        ("UPDATE agentbridge_resume SET entries = %s", [b"[]"], "sealed answers of"),
        ("UPDATE agentbridge_resume SET sha256 = 'x'", [], "are gone or others"),
        ("UPDATE agentbridge_resume SET n = 2", [], "no entry tells of it"),
        ("UPDATE agentbridge_run SET input = %s", [b"{}"], "changed after it was sealed"),
    ],
)
def test_changed_bytes_are_noticed(resume, sql, params, sentence):
    tamper(sql, *params)

    assert any(sentence in said for said in found())


@pytest.mark.parametrize(
    "change",
    [
        {"entries": b"[]"},
        {"sha256": "x"},
        {"state": "ready"},
    ],
)
def test_database_refuses_to_change_what_was_sealed_or_ended(resume, change):
    with pytest.raises(DatabaseError):
        Resume.objects.update(**change)


def test_database_refuses_to_change_a_raw_stream(resume):
    with pytest.raises(DatabaseError):
        StreamChunk.objects.update(data=b"other")


def test_every_guard_stands_after_all_migrations(resume):
    assert missing(guards.GUARDS, connection) == []

"""Inside PostgreSQL a role that only reads verifies the whole record, and is told when it may not."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from approvals.models import User
from tests.approvals.test_roles import roles
from tests.bridge_work import Script, paused_case, register, work
from tests.people import decide, only_task
from tests.scripted_agent import finishing, pausing

__all__ = ["roles"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


def verified(role: str) -> str:
    out = io.StringIO()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {role}")
        try:
            call_command("verify_audit", stdout=out, stderr=out)
        except SystemExit as ended:
            return f"{ended.code}: {out.getvalue()}"
    return out.getvalue()


def test_auditors_verify_what_was_decided_sealed_and_sent(script: Script, alice: User, roles: list[str]) -> None:
    case = paused_case(register(script(pausing(), finishing())), alice)
    decide(only_task(case), alice)
    work()
    assert verified(roles[1]).startswith("good: ")


def test_whoever_may_not_read_the_record_accuses_nobody(roles: list[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"REVOKE SELECT ON approvals_task FROM {roles[1]}")
    assert verified(roles[1]).startswith("2: The record cannot be read: permission denied")

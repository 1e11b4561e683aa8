"""What machines ask: up, ready, and how much waits."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.db import DatabaseError

from agentbridge.views import health
from tests import bridge_rows as rows
from tests.programs import Program


def test_up_asks_nothing(client, db, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert client.get("/healthz").status_code == 200


def test_ready_when_migrated(client, db):
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ready"})


@pytest.mark.parametrize(("name", "value"), [("SIGNING_KEYS", []), ("FIELD_KEYS", [])])
def test_not_ready_without_keys(client, db, settings, name, value):
    setattr(settings, name, value)
    assert client.get("/readyz").json() == {"status": "not ready", "reason": "The keys are not loaded."}


def test_not_ready_without_a_database(client, db, monkeypatch):
    def broken():
        raise DatabaseError

    with monkeypatch.context() as moment:
        moment.setattr(health.connection, "cursor", broken)
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["reason"]) == (503, "The database does not answer.")


def test_not_ready_with_migrations_to_do(client, db, monkeypatch):
    monkeypatch.setattr(health, "_migrated", False)
    monkeypatch.setattr(health.MigrationExecutor, "migration_plan", lambda self, targets: ["one"])
    assert client.get("/readyz").json()["reason"] == "Migrations are not applied."


@pytest.mark.parametrize(("free", "ready"), [(15_999_999, False), (16_000_000, True)])
def test_a_full_disk_keeps_no_decision(monkeypatch, tmp_path, free, ready):
    place = {"NAME": tmp_path / "desk.sqlite3"}
    monkeypatch.setattr(health, "connection", SimpleNamespace(vendor="sqlite", settings_dict=place))
    monkeypatch.setattr(health.shutil, "disk_usage", {tmp_path: SimpleNamespace(free=free)}.get)
    assert health.has_room() is ready


def test_not_ready_on_a_full_disk(client, db, monkeypatch):
    monkeypatch.setattr(health, "has_room", lambda: False)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["reason"]) == (503, "The disk that holds the database is full.")


def test_metrics_count_what_waits(client, carol, open_case, payments):
    case = open_case(2)
    rows.seal(open_case(), rows.add_run(rows.add_agent(payments)))
    headers = {"Authorization": f"Bearer {Program(carol).token}"}
    text = client.get("/metrics", headers=headers).content.decode()
    assert f'countersign_open_tasks{{queue="{case.tasks.first().queue.name}"}} 2.0' in text
    assert 'countersign_deliveries{state="in_doubt"} 1.0' in text
    assert "countersign_outbox_cases 0.0" in text

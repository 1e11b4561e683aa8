"""No column is forgotten: whatever can hold a piece of a conversation is emptied, or kept for a reason given here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import DatabaseError, models, transaction
from django.utils import timezone

from agentbridge.models import Incident
from agentbridge.models.notes import ProtocolNote
from agentbridge.record import erasing
from approvals import reviewing
from approvals.erasing import asking
from approvals.fields import OpaqueTextField
from approvals.models import AuditEntry, Case, Draft, Finding, Mention, Note, Reading, SetAside, Sighting, StoredAnswer
from tests.bridge_work import paused_case, register, work
from tests.emptying import guards_off
from tests.people import decide, in_seconds, only_task
from tests.scripted_agent import finishing, pausing

pytestmark = pytest.mark.django_db(transaction=True)
MARK = "zq7"
TEXTS = (models.CharField, models.TextField, models.JSONField, models.BinaryField, OpaqueTextField)

# Of no conversation: people, queues, agents, keys, and what auditors and administrators wrote of their own.
OTHERS = {
    "User", "Queue", "ApiToken", "SavedView", "FirstView", "MaskRule", "PublicKey", "Checkpoint", "AuditLog", "Agent",
    "SavedQuestion", "Sample", "RetentionRule", "Hold", "Erasure",
}  # fmt: skip
# Its bodies hold no content; which of its texts go depends on the verb: `test_erasing` looks for words in them.
OTHERS |= {"AuditEntry"}
KEPT = {
    "names by which entries and rows find each other": {
        "Case.code", "Case.refs", "Case.agent", "Case.thread_key", "Task.code", "Task.refs", "Task.agent",
        "Task.agent_name", "Task.thread_key", "Thread.key", "Thread.thread_id", "Run.key", "Run.run_id",
        "Run.parent_run_id", "ToolCall.key", "ToolCall.tool_call_id", "Interrupt.key", "Interrupt.interrupt_id",
        "Incident.tool_call_id",
    },
    "what kind of thing was asked: the record would say nothing without it": {
        "Task.reason", "Task.tool", "ToolCall.name", "Decision.reason_code",
    },
    "digests: they prove what was there to whoever still has a copy": {
        "Task.shown_digest", "Exhibit.digest", "Decision.shown_digest", "Sighting.digest", "Resume.sha256",
        "Run.input_digest",
    },
    "a caller's own number of a request": {"Decision.idempotency_key"},
    "our own words about how it went over the wire": {
        "Run.outcome", "Run.dialect", "Run.protocol_version", "Run.http_version_note",
        "Run.lease_owner", "Resume.next_run_id", "Resume.lease_owner", "ProtocolNote.rule",
        "ProtocolNote.severity",
    },
}  # fmt: skip


@pytest.fixture
def case(script, alice, bob, carol) -> Case:
    """Over and delivered, with a row in every table that tells of conversations."""
    case = paused_case(register(script(pausing(), finishing())), alice)
    task, now = only_task(case), timezone.now()
    decide(task, alice, comment="yes")
    work()
    Mention.objects.create(note=Note.objects.create(task=task, by=alice, text="@bob", at=now), user=bob)
    Sighting.objects.create(person=bob, task=task, digest="", at=now)
    Draft.objects.create(user=bob, task=task, fields="{}", shown_digest="", saved_at=now)
    SetAside.objects.create(user=bob, task=task, until=now, note="later", at=now)
    Reading.objects.create(user=bob, case=case, at=now)
    path = hashlib.sha256(f"/api/v1/tasks/{task.code}/decision".encode()).hexdigest()
    StoredAnswer.objects.create(user=bob, path_key=path, key="k", request_digest="", body=b"{}", at=now)
    closed = {"closed_by": carol, "closed_at": now, "reason": "seen"}
    Finding.objects.create(case=case, text="odd", by=carol, at=now, **closed)
    Incident.objects.create(case=case, task=task, kind=Incident.Kind.values[0], text="odd", opened_at=now)
    run = case.resumes.get().interrupted_run
    ProtocolNote.objects.create(agent=run.thread.agent, rule="C-1", severity="odd", last_run=run)
    case.refresh_from_db()
    return case


def columns() -> Iterator[tuple[type[models.Model], models.Field[Any, Any]]]:
    """Every column that can hold text from outside."""
    for app in ("approvals", "agentbridge"):
        for model in apps.get_app_config(app).get_models():
            for column in model._meta.concrete_fields:
                holds = isinstance(column, TEXTS) and not column.choices and (column.max_length or 99) >= len(MARK)
                if holds and model.__name__ not in OTHERS:
                    yield model, column


def marked(model: type[models.Model], column: models.Field[Any, Any]) -> Any:
    """The mark, in the form that this column's readers can read."""
    if isinstance(column, models.BinaryField):
        return MARK.encode()
    if isinstance(column, models.JSONField):
        return [{"sentence": MARK}]
    return {"Task.results": f'["{MARK}"]', "Task.conclusion": f"Ran: {MARK}"}.get(name_of(model, column), MARK)


def name_of(model: type[models.Model], column: models.Field[Any, Any]) -> str:
    return f"{model.__name__}.{column.name}"


def holders() -> set[str]:
    """Columns that hold the mark."""
    found = set()
    for model, column in columns():
        values = model._default_manager.values_list(column.name, flat=True)
        found |= {name_of(model, column) for value in values if MARK in str(value)}
    return found


KEYS = ("code", "key", "agent", "thread_key", "path_key")  # by which rows find each other: left as they are


def test_every_column_is_emptied_or_kept_for_a_reason(case, carol, adam):
    written = {name_of(model, column): (model, column) for model, column in columns() if column.name not in KEYS}
    with transaction.atomic(), guards_off():
        for model, column in written.values():
            assert model._default_manager.update(**{column.name: marked(model, column)}), model
    assert holders() == set(written)
    erasure = asking.ask(case, reason="Consent was taken back.", basis="GDPR", by=carol, now=timezone.now())
    erasing.carry_out(erasure, by=adam, now=timezone.now())
    kept = {name for names in KEPT.values() for name in names if name.partition(".")[2] not in KEYS}
    assert holders() == kept


def test_why_an_expired_case_was_closed_goes_too(open_case, olga, carol, adam):
    case = open_case(1, deadline=in_seconds(60))
    reviewing.take_expired(case, by=olga, reason="Mr Zeisig waits.", now=in_seconds(60))
    Case.objects.update(state="delivered", ended_at=timezone.now())
    erasure = asking.ask(case, reason="Consent was taken back.", basis="GDPR", by=carol, now=timezone.now())
    erasing.carry_out(erasure, by=adam, now=timezone.now())
    assert not [one.seq for one in AuditEntry.objects.all() if "Zeisig" in f"{one.sentence} {one.data}"]


def test_a_closed_finding_may_be_emptied_and_never_changed(case):
    with pytest.raises(DatabaseError), transaction.atomic():
        Finding.objects.update(reason="another")
    Finding.objects.update(reason="")
    with pytest.raises(DatabaseError), transaction.atomic():
        Finding.objects.update(reason="another")

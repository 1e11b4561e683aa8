"""Signing in is in the trail; guessing is slow."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from django.urls import reverse

from approvals import people
from approvals.models import AuditEntry
from approvals.models.people import Role
from approvals.views import sign_in as door
from tests.people import PASSWORD, in_seconds


def sign_in(client, name, password=PASSWORD):
    return client.post(reverse("login"), {"username": name, "password": password})


def test_who_signs_in_is_in_the_trail(client, alice):
    assert sign_in(client, "alice").status_code == 302

    entry = AuditEntry.objects.get(verb="login.ok")
    assert entry.actor == alice
    assert json.loads(entry.body)["actor"]["session"] is not None


def test_deeds_of_a_session_say_how_the_person_came(client, alice, task):
    sign_in(client, "alice")
    client.post(reverse("task-claim", args=[task.code]))

    actor = json.loads(AuditEntry.objects.get(verb="task.claimed").body)["actor"]
    assert actor["auth"] == ["pwd"]
    assert len(actor["session"]) == 64


@pytest.mark.parametrize(("name", "sentence"), [("alice", "as alice"), ("s3cret pass", "with an unknown name")])
def test_failure_is_in_the_trail_without_what_was_typed(client, alice, name, sentence):
    assert sign_in(client, name, "wrong").status_code == 200

    entry = AuditEntry.objects.get(verb="login.failed")
    assert sentence in entry.sentence
    assert "s3cret" not in entry.sentence + entry.data
    assert entry.actor is None


def test_a_failure_is_told_in_the_words_of_the_form(client, alice):
    page = sign_in(client, "alice", "wrong").content.decode()
    assert "The name or the password is not right." in page


def test_each_language_has_its_own_name_for_itself(client, db):
    page = client.get(reverse("login"), headers={"Accept-Language": "ko"}).content.decode()
    assert ">English</button>" in page and ">한국어</button>" in page


def test_service_person_cannot_sign_in(client, db):
    people.set_user("robot", role=Role.REVIEWER, service=True, now=in_seconds(0))

    assert sign_in(client, "robot").status_code == 200
    assert AuditEntry.objects.filter(verb="login.failed").exists()


def test_guessing_is_slowed_down_for_the_guessed_name_only(client, alice, bob, monkeypatch):
    at = in_seconds(0)
    monkeypatch.setattr(door, "timezone", SimpleNamespace(now=lambda: at))  # else a slow machine guesses slowly
    answers = [sign_in(client, "alice", f"guess {number}").status_code for number in range(11)]

    assert answers == [200] * 10 + [429]
    assert sign_in(client, "alice").status_code == 429
    assert AuditEntry.objects.filter(verb="login.failed").count() == 10
    assert sign_in(client, "bob").status_code == 302

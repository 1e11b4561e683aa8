"""A fault of ours is said in words, to people and to programs."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.test import Client, RequestFactory
from django.utils import timezone

from approvals import permissions, tokens
from approvals.models import User
from config import faults

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client of a desk whose disk is full."""

    def full(*asked: object) -> None:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(permissions, "visible_tasks", full)
    return Client(raise_request_exception=False)


def test_a_program_gets_a_problem(visitor: Client, alice: User) -> None:
    token = tokens.issue(alice, now=timezone.now())
    answer = visitor.get("/api/v1/tasks", headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, answer["Content-Type"]) == (500, "application/problem+json")
    assert answer.json()["code"] == "broken" and "disk" not in answer.content.decode()


def test_a_person_gets_a_page(visitor: Client, alice: User) -> None:
    visitor.force_login(alice)
    answer = visitor.get("/queue/")
    assert answer.status_code == 500 and "Something broke on our side" in answer.content.decode()


def test_a_chat_front_end_gets_a_problem_too(rf: RequestFactory) -> None:
    assert faults.broken(rf.post("/agui/payer"))["Content-Type"] == "application/problem+json"

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


@pytest.mark.parametrize("address", ["/api/v1/nothing", "/api/v2/tasks", "/api/v1/tasks/a/b/c"])
def test_a_program_that_asks_at_a_wrong_address_gets_a_problem(client: Client, address: str) -> None:
    answer = client.post(address)
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    assert answer.json()["code"] == "not_found"


def test_a_person_at_a_wrong_address_gets_a_page(client: Client) -> None:
    answer = client.get("/nothing/")
    assert answer.status_code == 404 and "Nothing here that you can see" in answer.content.decode()

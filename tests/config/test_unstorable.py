"""NUL in what a person or a program asks: a bad request where the database refuses it, and never a fault of ours."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from approvals import tokens
from approvals.models import User

pytestmark = pytest.mark.django_db
QUEUE = ("q", "agent", "tool", "reason", "queue", "claimed", "thread", "after", "due", "newest", "shown", "state")
AUDIT = ("actor", "verb", "agent", "thread", "since", "q", "case", "tool", "queue", "verdict", "edited", "before")
PAGES = [
    *(f"/queue/?{name}=%00" for name in QUEUE), *(f"/audit/?{name}=%00" for name in AUDIT), "/cases/%00/",
    "/deliveries/?agent=%00&view=%00", "/agents/payer/runs/?run=%00",
]  # fmt: skip
ASKED = [
    *(f"tasks?{name}=%00" for name in ("state", "agent", "queue", "thread", "q", "cursor")), "cases/%00", "tasks/%00",
    *(f"audit?{name}=%00" for name in ("actor", "verb", "agent", "thread", "q")),
    "runs?agent=%00", "incidents?kind=%00",
]  # fmt: skip
FOUND_NOTHING = 200 if connection.vendor == "sqlite" else 400


@pytest.mark.parametrize("page", PAGES)
def test_a_page_asked_for_it_answers(client: Client, alice: User, page: str) -> None:
    client.force_login(alice)
    assert client.get(page).status_code in (200, 302, 400, 404)


@pytest.mark.parametrize("asked", ASKED)
def test_the_api_answers_with_a_problem(client: Client, carol: User, asked: str) -> None:
    token = tokens.issue(carol, now=timezone.now())
    answer = client.get(f"/api/v1/{asked}", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code in (200, 400, 404)
    assert answer.headers["Content-Type"] in ("application/json", "application/problem+json")


def test_a_filter_that_nothing_can_match_is_said_to_be_one(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.get("/queue/?agent=%00").status_code == FOUND_NOTHING


def test_a_form_that_holds_it_is_told_so(client: Client, adam: User) -> None:
    client.force_login(adam)
    assert client.post("/audit/erasures/ask/", {"case": "\x00"}).status_code == (404 if FOUND_NOTHING == 200 else 400)

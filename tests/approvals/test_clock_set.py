"""Somebody sets the server's clock while a page is open: one decision, and a trail that still proves it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.trail import verification
from approvals.views import case
from tests.pages import Page
from tests.people import in_seconds

HOUR = timedelta(hours=1)


@pytest.fixture
def set_clock(monkeypatch):
    """By so much, for the process; views bound its clock when they were loaded."""
    real = timezone.now

    def by(much: timedelta) -> None:
        monkeypatch.setattr(timezone, "now", lambda: real() + much)
        monkeypatch.setattr(case, "current", lambda: real() + much)

    return by


def decision_form(client, asked):
    return Page(client.get(f"/cases/{asked.code}/").content.decode()).decisions()[0]


@pytest.mark.parametrize("by", [-HOUR, HOUR], ids=["back", "forward"])
def test_a_page_that_was_open_decides_and_the_trail_keeps_its_order(client, alice, task, set_clock, by):
    client.force_login(alice)
    form = decision_form(client, task.case)
    set_clock(by)
    assert client.post(form.action, form.filled(verdict="approved")).status_code == 303
    assert task.decisions.live().get().verdict == "approved"
    assert client.get("/queue/?state=settled").status_code == client.get(f"/cases/{task.case.code}/").status_code == 200
    assert verification.verify().findings == []


def test_the_later_of_two_clocks_says_what_is_too_late(client, alice, open_case, set_clock):
    client.force_login(alice)
    form = decision_form(client, open_case(deadline=in_seconds(1800)))
    set_clock(HOUR)
    assert client.post(form.action, form.filled(verdict="approved")).status_code == 409

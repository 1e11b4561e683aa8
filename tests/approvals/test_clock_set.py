"""Somebody sets the server's clock while a page is open: what is decided is decided once, and the trail still proves it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.trail import verification
from tests.pages import Page
from tests.people import in_seconds

HOUR = timedelta(hours=1)


@pytest.fixture
def set_clock(monkeypatch):
    real = timezone.now
    return lambda by: monkeypatch.setattr(timezone, "now", lambda: real() + by)


def decision_form(client, case):
    return Page(client.get(f"/cases/{case.code}/").content.decode()).decisions()[0]


@pytest.mark.parametrize("by", [-HOUR, HOUR], ids=["back", "forward"])
def test_a_page_that_was_open_decides_and_the_trail_keeps_its_order(client, alice, task, set_clock, by):
    client.force_login(alice)
    form = decision_form(client, task.case)
    set_clock(by)
    assert client.post(form.action, form.filled(verdict="approved")).status_code == 303
    assert task.decisions.live().get().verdict == "approved"
    assert client.get("/queue/?state=settled").status_code == client.get(f"/cases/{task.case.code}/").status_code == 200
    assert verification.verify().findings == []


def test_a_deadline_that_the_new_clock_has_passed_is_over(client, alice, open_case, set_clock):
    case = open_case(deadline=in_seconds(1800))
    client.force_login(alice)
    form = decision_form(client, case)
    set_clock(HOUR)
    assert client.post(form.action, form.filled(verdict="approved")).status_code == 409
    set_clock(-HOUR)
    assert client.post(form.action, form.filled(verdict="approved")).status_code == 303

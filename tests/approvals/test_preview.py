"""The round between typing and deciding, as a browser asks for it: fragments, and nothing is decided."""

from __future__ import annotations

import pytest

from approvals import audit
from tests.pages import Page
from tests.people import only_task


@pytest.fixture
def typed(alice, task, client):
    """What a browser posts after alice typed another amount."""
    client.force_login(alice)
    form = Page(client.get(f"/cases/{task.case.code}/").content.decode()).decisions()[0]
    return form.type("/amount", "99.50").filled()


def asked(client, task, post, **more):
    return client.post(f"/tasks/{task.code}/preview/", {**post, **more}, headers={"HX-Request": "true"})


def test_the_raw_json_and_the_changes_follow_what_is_typed(task, client, typed):
    before = audit.trail_of(task.case).count()
    answer = asked(client, task, typed, action="to-raw:v").content.decode()
    assert "99.50" in answer and 'id="raw-v"' in answer and "1 change to what was proposed" in answer
    assert 'id="fields-v"' not in answer and "<html" not in answer
    assert not only_task(task.case).decisions.exists() and audit.trail_of(task.case).count() == before


def test_the_fields_follow_the_raw_json(task, client, typed):
    raw = typed["v:raw"].replace("120.50", "7")
    answer = asked(client, task, {**typed, "v/amount": "120.50", "v:raw": raw}, action="to-fields:v").content.decode()
    assert 'value="7"' in answer and 'id="fields-v"' in answer


def test_what_cannot_be_read_draws_no_half_again(task, client, typed):
    answer = asked(client, task, {**typed, "v/amount": "a lot"}, action="to-raw:v").content.decode()
    assert 'id="raw-v"' not in answer and "not a number" in answer


def test_a_form_of_nothing_is_refused(task, client, typed):
    assert asked(client, task, typed, action="to-raw:w").status_code == 403


def test_hidden_characters_are_spelled_out_while_they_are_typed(task, client, typed):
    answer = asked(client, task, {**typed, "v/note": "a\u202eb"}, action="to-raw:v").content.decode()
    assert "U+202E</span>" in answer and answer.count('-g" hx-swap-oob="outerHTML" hidden>') == 1

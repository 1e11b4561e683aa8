"""Each person's own desk: keys, zone, language, mentions. Kept on the server, so it is there on every device."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.desk import shortcuts
from approvals.verbs import notes
from tests.pages import Page
from tests.people import PASSWORD

USUAL = {f"key-{action.name}": action.key for action in shortcuts.ACTIONS}


@pytest.fixture
def set_up(client, alice):
    """Save alice's desk with some things changed; gives back the answer."""
    client.force_login(alice)

    def set_up(**changes: str):
        answer = client.post("/accounts/me/", {**USUAL, "time_zone": "UTC", "language": "", "keys_on": "1", **changes})
        alice.refresh_from_db()
        return answer

    return set_up


def test_keys_are_changed_and_switched_off_for_one_person(alice, bob, set_up):
    assert set_up(**{"key-approve": "y", "key-reject": "", "keys_on": ""}).status_code == 303
    assert alice.keys == {"approve": "y", "reject": ""} and not alice.keys_on
    assert {one.key for one in shortcuts.of(alice) if one.name in ("approve", "reject")} == {"y", ""}
    assert {one.key for one in shortcuts.of(bob) if one.name == "approve"} == {"a"} and bob.keys_on


@pytest.mark.parametrize(("field", "key"), [("key-approve", "r"), ("key-next", "jj"), ("key-help", "\x07")])
def test_a_key_that_cannot_be_is_refused_beside_its_field(alice, set_up, field, key):
    answer = set_up(**{field: key})
    page = Page(answer.content.decode())
    assert answer.status_code == 422 and alice.keys == {} and "Not saved" in page.text


def test_pages_say_the_time_in_the_persons_zone_and_the_record_in_utc(client, alice, task, set_up):
    type(task.case).objects.update(deadline=timezone.now().replace(hour=12, minute=0) + timedelta(days=1))
    set_up(time_zone="Asia/Seoul")
    page = Page(client.get(f"/cases/{task.case.code}/").content.decode())
    assert "21:00 KST" in page.text and "Your time zone is Asia/Seoul." in page.text
    assert "When, UTC" in Page(client.get("/audit/").content.decode()).text


@pytest.mark.parametrize(("field", "value"), [("time_zone", "Mars/Olympus"), ("language", "tlh")])
def test_what_this_machine_does_not_know_is_refused(set_up, field, value):
    assert set_up(**{field: value}).status_code == 422


def test_a_language_comes_along_to_the_next_device(client, alice, set_up):
    set_up(language="ko")
    client.logout()
    client.cookies.clear()
    client.post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    assert '<html lang="ko">' in client.get("/queue/").content.decode()


def test_mentions_are_listed_until_they_are_seen(client, alice, bob, task):
    notes.add(task, by=alice, text="@bob: the old IBAN?", now=timezone.now())
    client.force_login(bob)
    assert "the old IBAN?" in Page(client.get("/accounts/me/").content.decode()).text
    client.post(f"/cases/{task.case.code}/reading/")
    assert "the old IBAN?" not in Page(client.get("/accounts/me/").content.decode()).text


def test_no_key_of_ours_does_two_things():
    keys = [action.key for action in shortcuts.ACTIONS]
    assert len(keys) == len(set(keys))

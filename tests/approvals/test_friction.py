"""A yes in a queue of high risk: the list read, the value typed, a second look. A no stays as easy as anywhere."""

from __future__ import annotations

import pytest
from django.utils import timezone

from approvals import people
from approvals.verbs import friction
from tests.pages import Form, Page
from tests.people import only_task

STEPS = {"read_all": "1", "typed": "120.50"}


@pytest.fixture
def room(client, alice, payments, task):
    """Alice before a task of high risk: `post(form, …)` gives back status and page."""
    people.set_queue("payments", risk="high", now=timezone.now())
    client.force_login(alice)

    class Room:
        form: Form = Page(client.get(f"/cases/{task.case.code}/").content.decode()).decisions()[0]

        def post(self, form: Form, verdict: str = "approved", **more: str) -> tuple[int, Page]:
            answer = client.post(form.action, form.filled(verdict=verdict, **more))
            return answer.status_code, Page(answer.content.decode())

    return Room()


def test_a_yes_needs_the_list_read_and_the_value_typed(room, task):
    status, page = room.post(room.form)
    assert status == 422 and not task.decisions.exists()
    assert task.case.entries.filter(verb="task.refused", task=task).count() == 1  # what was tried is on the trail
    assert "Say that you have read the whole list." in page.text and "not what stands at /amount" in page.text


def test_what_will_happen_is_shown_once_more_before_it_counts(room, task):
    status, page = room.post(room.form, **STEPS)
    assert status == 200 and not task.decisions.exists()
    assert "nothing has been decided yet" in page.text and '"approved": true' in page.text
    status, _page = room.post(page.decisions()[0])
    assert status == 303 and task.decisions.live().get().answer == '{"approved":true}'


def test_a_second_look_is_good_for_what_was_shown_alone(room, task):
    _status, page = room.post(room.form, **STEPS)
    status, again = room.post(page.decisions()[0], comment="something else now")
    assert (status, task.decisions.exists()) == (200, False)
    assert "nothing has been decided yet" in again.text


def test_an_edited_amount_is_typed_as_it_will_be_sent(room, task):
    assert room.post(room.form.type("/amount", "99.10"), **STEPS)[0] == 422
    status, page = room.post(room.form.type("/amount", "99.10"), read_all="1", typed="99.10")
    assert status == 200 and room.post(page.decisions()[0])[0] == 303
    assert '"amount": 99.10' in task.decisions.live().get().edits


def test_a_no_takes_one_step(room, task):
    assert room.post(room.form, "rejected")[0] == 303
    assert task.decisions.live().get().verdict == "rejected"


def test_nothing_in_the_room_is_ticked_typed_or_under_a_key(room):
    assert room.form.fields["typed"] == "" and "read_all" not in room.form.fields


def test_back_from_the_second_look_finds_everything_as_it_was(room):
    _status, page = room.post(room.form.type("/note", "kept"), **STEPS)
    form = page.decisions()[0]
    _status, back = room.post(form, action="show")
    assert back.decisions()[0].pointers["/note"]["value"] == "kept"


@pytest.mark.parametrize(
    ("proposal", "pointer", "text"),
    [
        ('{"to": "x@y.org", "amount": 48200.00}', "/amount", "48200.00"),
        ('{"note": "hi", "to_iban": "DE02 1203"}', "/to_iban", "DE02 1203"),
        ('{"order": {"total": 1e2}, "note": "hi"}', "/order/total", "1e2"),
        ('{"path": "a\\u200bb", "mode": "fast"}', "/mode", "fast"),
        ('{"ok": true}', None, None),
        ('["ab"]', "/0", "ab"),
    ],
)
def test_the_value_to_type_is_an_amount_then_a_place_then_anything(proposal, pointer, text):
    found = friction.distinctive(proposal)
    assert (found and found.pointer, found and found.text) == (pointer, text)


def test_other_queues_decide_at_once(client, alice, open_case):
    case = open_case()
    client.force_login(alice)
    form = Page(client.get(f"/cases/{case.code}/").content.decode()).decisions()[0]
    assert client.post(form.action, form.filled(verdict="approved")).status_code == 303
    assert only_task(case).decisions.live().exists()


def test_a_secret_is_never_the_value_to_type():
    found = friction.distinctive('{"api_key": "sk-live-abcdefghijklmnop", "mode": "fast"}')
    assert found and found.pointer == "/mode"

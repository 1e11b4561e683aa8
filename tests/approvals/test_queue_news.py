"""An open queue page reads itself again: nothing vanishes from under a hand, and what is new is one sentence."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.models import Case, Task
from approvals.verbs import asides, claiming
from tests.people import decide, in_seconds, only_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def again(client, alice):
    """The page as it reads itself, telling what it shows."""
    client.force_login(alice)

    def read(shown=(), gone=(), newest=0, **query):
        told = {"shown": [task.code for task in shown], "gone": [task.code for task in gone], "newest": newest}
        return client.get("/queue/", {**told, **query}, headers={"HX-Request": "true"})

    return read


def states(response):
    return [(row.task.code, row.is_gone) for row in response.context["rows"]]


def test_a_decided_line_stays_in_its_place_and_says_who(again, bob, open_case):
    first, second, third = (only_task(open_case(deadline=in_seconds(600 + n))) for n in range(3))
    decide(second, bob, "rejected")
    page = again([first, second, third])
    assert states(page) == [(first.code, False), (second.code, True), (third.code, False)]
    assert "rejected by bob" in page.content.decode() and 'name="gone"' in page.content.decode()


def test_it_goes_when_the_page_no_longer_asks_for_it(again, bob, open_case):
    task = only_task(open_case())
    decide(task, bob)
    assert states(again()) == []


def test_an_expired_line_stays_too(again, open_case):
    task = only_task(open_case(deadline=in_seconds(3600)))
    for model, name in ((Task, "due_at"), (Case, "deadline")):
        model.objects.update(**{name: in_seconds(-1)})
    page = again([task])
    assert states(page) == [(task.code, True)] and "expired" in page.content.decode()


def test_what_one_set_aside_oneself_goes_at_once(again, alice, open_case):
    task = only_task(open_case())
    asides.set_aside(task, by=alice, until=in_seconds(600), now=timezone.now())
    assert states(again([task])) == []


def test_a_line_that_no_longer_fits_the_filter_stays_and_is_open(again, bob, open_case):
    task = only_task(open_case())
    claiming.claim(task, by=bob, now=timezone.now())
    page = again([task], claimed="nobody")
    assert states(page) == [(task.code, False)] and "bob" in page.content.decode()


def test_news_are_one_sentence_however_many(again, bob, open_case):
    old = [only_task(open_case()) for _case in range(5)]
    for _case in range(3):
        open_case()
    for task in old[:4]:
        decide(task, bob)
    page = again(old, newest=old[-1].pk)
    assert page.context["news"].sentences == ["3 new tasks.", "4 tasks are not open any more."]
    assert again(old[4:], gone=old[:4], newest=Task.objects.latest("pk").pk).context["news"].sentences == []


def test_few_that_end_are_named(again, bob, open_case):
    task = only_task(open_case())
    decide(task, bob)
    assert again([task]).context["news"].sentences == [f"{task.code} is not open any more."]


def test_what_others_may_not_see_is_not_told(again, olga, payments, alice, open_case):
    task = only_task(open_case())
    payments.members.remove(alice)
    assert states(again([task])) == []


@pytest.mark.parametrize("newest", ["x", "", "9" * 30, "-1", "\u0661"])
def test_nonsense_is_told_nothing(again, open_case, newest):
    open_case()
    assert again(newest=newest).status_code == 200


def test_the_title_counts(client, again, open_case):
    open_case(2)
    assert "<title>(2) Queue" in again().content.decode()
    assert "<title>(2) Queue" in client.get("/queue/").content.decode()


def test_a_stale_claim_is_free_and_a_fresh_one_is_taken_over_with_a_reason(client, alice, bob, open_case):
    task = only_task(open_case())
    claiming.claim(task, by=bob, now=timezone.now())
    client.force_login(alice)
    (row,) = client.get("/queue/").context["rows"]
    assert (row.may_claim, row.may_take_over) == (False, True)
    assert client.post(f"/tasks/{task.code}/take-over/", {"reason": " "}).status_code == 422
    client.post(f"/tasks/{task.code}/take-over/", {"reason": "Bob went home"})
    task.refresh_from_db()
    assert task.claimed_by == alice
    Task.objects.update(claimed_at=timezone.now() - claiming.STALE - timedelta(seconds=1))
    claiming.claim(task, by=bob, now=timezone.now())
    task.refresh_from_db()
    assert task.claimed_by == bob

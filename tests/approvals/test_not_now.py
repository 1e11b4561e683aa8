"""“Not now” keeps a task away from one person until a time, is never a decision, and never outlasts the deadline."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.models import SetAside
from approvals.refusals import Invalid, NotAllowed, WrongState
from approvals.verbs import asides, claiming
from tests.people import decide, in_seconds, only_task, verbs

pytestmark = pytest.mark.django_db


@pytest.fixture
def set_aside(alice):
    def aside(task, *, by=alice, seconds=600, note=""):
        return asides.set_aside(task, by=by, until=in_seconds(seconds), note=note, now=timezone.now())

    return aside


def listed(client, user, query="?state=open"):
    client.force_login(user)
    return [row.task.code for row in client.get(f"/queue/{query}").context["rows"]]


def back_already(task):
    SetAside.objects.filter(task=task).update(until=in_seconds(-1))


def test_it_leaves_my_queue_and_nobody_elses(client, alice, bob, task, set_aside):
    set_aside(task)
    assert listed(client, alice) == [] and listed(client, bob) == [task.code]
    assert listed(client, alice, "?aside=1") == [task.code]
    assert task.state == "open" and verbs(task.case)[-1] == "task.set_aside"


def test_it_is_counted_apart(client, alice, open_case, set_aside):
    set_aside(only_task(open_case()))
    open_case()
    client.force_login(alice)
    numbers = {view.value: view.number for view in client.get("/queue/?state=open").context["views"]}
    assert numbers[""] == 1 and numbers["aside=1"] == 1


def test_at_its_time_it_is_on_top_with_its_note(client, alice, open_case, set_aside):
    task = only_task(open_case())
    sooner = only_task(open_case(deadline=in_seconds(1200)))
    set_aside(task, note="wait for Mina")
    back_already(task)
    assert listed(client, alice) == [task.code, sooner.code]
    assert "wait for Mina" in client.get("/queue/").content.decode()


def test_claiming_or_picking_it_up_ends_it(client, alice, open_case, set_aside):
    claimed, picked = only_task(open_case()), only_task(open_case())
    for task in (claimed, picked):
        set_aside(task)
    claiming.claim(claimed, by=alice, now=timezone.now())
    client.force_login(alice)
    assert f"/tasks/{picked.code}/pick-up/" in client.get("/queue/?aside=1").content.decode()
    client.post(f"/tasks/{picked.code}/pick-up/")
    assert listed(client, alice) == [claimed.code, picked.code]
    with pytest.raises(WrongState):
        asides.pick_up(picked, by=alice, now=timezone.now())


def test_setting_it_aside_gives_it_back(alice, task, set_aside):
    claiming.claim(task, by=alice, now=timezone.now())
    set_aside(task)
    task.refresh_from_db()
    assert task.claimed_by is None


def test_never_past_the_deadline(alice, open_case, set_aside):
    task = only_task(open_case(deadline=in_seconds(40 * 60)))
    with pytest.raises(Invalid, match="deadline is earlier"):
        set_aside(task, seconds=40 * 60)
    assert [choice.words for choice in asides.choices(task, now=timezone.now())] == ["in 15 minutes"]
    set_aside(task, seconds=30 * 60)


def test_neither_into_the_past_nor_for_what_is_over(alice, task, set_aside):
    with pytest.raises(Invalid):
        set_aside(task, seconds=-1)
    decide(task, alice)
    with pytest.raises(WrongState):
        set_aside(task)


def test_clearing_the_screen_has_a_limit(open_case, set_aside, monkeypatch):
    monkeypatch.setattr(asides, "MOST", 1)
    set_aside(only_task(open_case()))
    with pytest.raises(Invalid, match="pick one up first"):
        set_aside(only_task(open_case()))


def test_only_who_may_decide_sets_aside(task, olga, charlie, set_aside):
    for person in (olga, charlie):
        with pytest.raises(NotAllowed):
            set_aside(task, by=person)


def test_it_stays_decidable_by_everybody(alice, bob, task, set_aside):
    set_aside(task)
    assert decide(task, bob).verdict == "approved"


def test_the_page_offers_times_and_takes_another_one(client, alice, task):
    client.force_login(alice)
    page = client.get(f"/tasks/{task.code}/not-now/", headers={"Referer": "http://testserver/queue/?asks=1"})
    assert page.context["back"] == "/queue/?asks=1" and len(page.context["choices"]) == 4
    other = (timezone.now() + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M")
    answer = client.post(f"/tasks/{task.code}/not-now/", {"other": other, "next": "/queue/?asks=1", "note": "later"})
    assert answer.headers["location"] == "/queue/?asks=1"
    assert SetAside.objects.get().note == "later"


@pytest.mark.parametrize("said", [{}, {"until": "soon"}, {"other": "2020-01-01T09:00"}, {"until": "2026-13-01T00:00"}])
def test_the_page_says_what_is_wrong_and_keeps_the_note(client, alice, task, said):
    client.force_login(alice)
    answer = client.post(f"/tasks/{task.code}/not-now/", {**said, "note": "kept words"})
    assert answer.status_code == 422 and "kept words" in answer.content.decode()

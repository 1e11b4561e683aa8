"""The order of the queue holds while others come and go, and one agent's flood leaves room for the others."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import people, waiting
from approvals.models import Task
from approvals.waiting import fairness, pages, places
from tests.people import in_seconds, new_task, shown

pytestmark = pytest.mark.django_db


@pytest.fixture
def asks(open_case):
    """`asks(queue, "tool", agent="payer", deadline=…)`: one more open task."""

    def ask(queue, tool, *, agent="payer", **more):
        return open_case(tasks=[new_task(queue, exhibit=shown(tool), **more)], case={"agent": agent}).tasks.get()

    return ask


@pytest.fixture
def page_of(alice):
    def read(query=None, **filters):
        now = timezone.now()
        wanted = waiting.Filters(**filters) if query is None else waiting.Filters.of(query)
        glance = waiting.glance(alice, now=now)
        return waiting.page(alice, wanted, queues=alice.own_queues, glance=glance, now=now)

    return read


def tools(page):
    return [task.tool for task in page.tasks]


def add_queue(alice, name, risk):
    queue = people.set_queue(name, risk=risk, now=timezone.now())
    queue.members.add(alice)
    alice.__dict__.pop("own_queues", None)
    return queue


def test_of_one_deadline_the_higher_risk_comes_first_and_then_the_older(alice, payments, asks, page_of):
    low, high = add_queue(alice, "mail", "low"), add_queue(alice, "servers", "high")
    at = in_seconds(3600)
    for queue, tool in ((low, "low"), (payments, "medium"), (high, "high"), (high, "younger")):
        asks(queue, tool, deadline=at)
    asks(low, "sooner", deadline=at - timedelta(minutes=1))
    asks(low, "never low")
    asks(high, "never high")
    assert tools(page_of()) == ["sooner", "high", "younger", "medium", "low", "never high", "never low"]


def test_paging_neither_skips_nor_repeats_while_tasks_arrive(alice, payments, asks, page_of, monkeypatch):
    monkeypatch.setattr(pages, "PAGE", 3)
    queues = [payments, add_queue(alice, "mail", "low"), add_queue(alice, "servers", "high")]
    at = in_seconds(3600)
    before = {asks(queues[n % 3], f"t{n}", deadline=at if n % 2 else None).tool for n in range(12)}
    seen, after = [], ""
    while True:
        page = page_of(after=after)
        seen += tools(page)
        for queue in queues:  # on every place of the order
            asks(queue, "new", deadline=at)
            asks(queue, "new")
            asks(queue, "new", deadline=at - timedelta(minutes=5))
        if not (after := page.next) or len(seen) > 60:
            break
    old = [tool for tool in seen if tool in before]
    assert sorted(old) == sorted(before)


def test_what_is_decided_between_two_pages_moves_nothing(payments, asks, page_of, monkeypatch):
    monkeypatch.setattr(pages, "PAGE", 2)
    made = [asks(payments, f"t{n}") for n in range(5)]
    first = page_of()
    Task.objects.filter(pk__in=[made[0].pk, made[1].pk, made[2].pk]).update(state="withdrawn")
    assert tools(first) + tools(page_of(after=first.next)) == ["t0", "t1", "t3", "t4"]


@pytest.mark.parametrize("place", ["x", "W10", "bnVsbA", "WyIxIl0", "W1siYSIsMSwyXV0"])
def test_an_unreadable_place_is_the_beginning(place, payments, asks, page_of):
    asks(payments, "first")
    assert places.read(place) == places.Places() and tools(page_of(after=place)) == ["first"]


@pytest.fixture
def flood(payments, asks, monkeypatch):
    """Twenty tasks of one agent, due before the three of another; twenty are a flood here."""
    monkeypatch.setattr(pages, "PAGE", 5)
    monkeypatch.setattr(fairness, "FLOOD", 10)
    for n in range(20):
        asks(payments, f"flood{n}", agent="flooder", deadline=in_seconds(600 + n))
    for n in range(3):
        asks(payments, f"other{n}", deadline=in_seconds(3600 + n))


def test_a_flood_leaves_room_and_is_named(flood, page_of):
    page = page_of()
    assert page.flood == "flooder"
    assert tools(page) == ["flood0", "flood1", "other0", "other1", "other2"]
    assert tools(page_of(agents=("flooder",)))[:3] == ["flood0", "flood1", "flood2"]


def test_pages_of_a_flood_neither_skip_nor_repeat(flood, page_of):
    seen, after = [], ""
    while True:
        page = page_of(after=after)
        seen += tools(page)
        if not (after := page.next):
            break
    assert sorted(seen) == sorted([f"flood{n}" for n in range(20)] + [f"other{n}" for n in range(3)])


def test_a_single_agent_is_no_flood(payments, asks, page_of, monkeypatch):
    monkeypatch.setattr(pages, "PAGE", 5)
    monkeypatch.setattr(fairness, "FLOOD", 10)
    for n in range(12):
        asks(payments, f"t{n}")
    assert page_of().flood == "" and tools(page_of()) == ["t0", "t1", "t2", "t3", "t4"]


def test_what_follows_a_case_is_what_the_queue_shows_first(alice, payments, asks):
    asks(payments, "later", deadline=in_seconds(7200))
    here = asks(payments, "here", deadline=in_seconds(60))
    asks(payments, "sooner", deadline=in_seconds(600))
    assert waiting.following(alice, beside=here.case, now=timezone.now()).tool == "sooner"

"""The queue page: what is mine, soonest first, by any filter, and as quick with very much as with little."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import people, reviewing
from approvals.models import Queue, Task
from approvals.models.people import Role
from approvals.verbs import claiming
from approvals.waiting import counting, pages
from tests.people import ARGS, asked, decide, new_task, only_task, person, question_kit, shown

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client, alice):
    """`page("?q=…")` as alice sees it."""
    client.force_login(alice)
    return lambda query="", **headers: client.get(f"/queue/{query}", headers=headers)


def in_minutes(minutes):
    return timezone.now() + timedelta(minutes=minutes)


def tools(response):
    return [row.task.tool or "?" for row in response.context["rows"]]


def test_visitors_sign_in_first(client, db):
    assert client.get("/queue/").headers["location"] == "/accounts/login/?next=/queue/"


def test_soonest_first_and_without_a_deadline_last(page, open_case):
    for tool, deadline in (("late", in_minutes(90)), ("never", None), ("soon", in_minutes(3))):
        open_case(exhibit=shown(tool), deadline=deadline)
    assert tools(page()) == ["soon", "late", "never"]
    assert "<h1>3 open</h1>" in re.sub(r">\s+|\s+<", lambda match: match[0].strip(), page().content.decode())


def test_other_queues_stay_out_of_sight(page, open_case, payments):
    travel = people.set_queue("travel", now=timezone.now())
    open_case(tasks=[new_task(payments, exhibit=shown("mine"))])
    open_case(tasks=[new_task(travel, exhibit=shown("theirs"))], case={"thread_key": "t" * 64})
    assert tools(page()) == ["mine"]
    assert tools(page("?queue=travel")) == []


def test_an_operator_sees_all_and_claims_nothing(client, olga, open_case):
    open_case()
    client.force_login(olga)
    response = client.get("/queue/")
    assert tools(response) == ["send_money"]
    assert b"/claim/" not in response.content


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?due=15", ["soon"]),
        ("?claimed=me", ["claimed"]),
        ("?claimed=nobody", ["soon", "?"]),
        ("?asks=1", ["?"]),
        ("?q=SOON", ["soon"]),
        ("?q=nothing-like-it", []),
        ("?agent=payer", ["soon", "claimed", "?"]),
        ("?agent=other", []),
        ("?queue=payments&queue=travel", ["soon", "claimed", "?"]),
        ("?risk=high", []),
        ("?state=settled", []),
        ("?state=nonsense&due=x&after=%00", ["soon", "claimed", "?"]),
    ],
)
def test_every_filter_is_in_the_address(page, alice, open_case, query, expected):
    open_case(exhibit=shown("soon"), deadline=in_minutes(9))
    case = open_case(exhibit=shown("claimed"), deadline=in_minutes(60))
    open_case(exhibit=asked(), kit=question_kit())
    claiming.claim(case.tasks.get(), by=alice, now=timezone.now())
    assert tools(page(query)) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?state=settled", ["no", "edited", "yes"]),
        ("?verdict=approved", ["yes"]),
        ("?verdict=edited", ["edited"]),
        ("?verdict=rejected&by=me", []),
        ("?by=me", ["edited", "yes"]),
        ("?by=bob", ["no"]),
        ("?verdict=nonsense", ["waits"]),
    ],
)
def test_what_was_decided_says_how_and_by_whom(page, alice, bob, open_case, query, expected):
    decide(only_task(open_case(exhibit=shown("yes"))), alice)
    decide(only_task(open_case(exhibit=shown("edited"))), alice, edits=ARGS.replace("rent", "heat"))
    decide(only_task(open_case(exhibit=shown("no"))), bob, "rejected")
    open_case(exhibit=shown("waits"))
    said = {"yes": "approved by alice", "edited": "approved with edits by alice", "no": "rejected by bob", "waits": ""}
    response = page(query)
    assert tools(response) == expected
    told = re.findall(r"(approved|approved with edits|rejected) by (\w+)<", response.content.decode())
    assert [" by ".join(one) for one in told] == [said[tool] for tool in expected if said[tool]]


def test_a_decision_taken_back_is_none(page, alice, open_case, settings):
    settings.UNDO_SECONDS = 600
    case = open_case(exhibit=shown("again"))
    decide(only_task(case), alice)
    reviewing.recall(case, by=alice, now=timezone.now())
    decide(only_task(case), alice, "rejected")
    assert tools(page("?verdict=approved")) == []
    assert tools(page("?verdict=rejected")) == ["again"]


def test_an_expired_task_is_not_open_but_can_be_found(page, open_case):
    open_case(deadline=in_minutes(1), now=timezone.now() - timedelta(hours=1))
    Task.objects.update(due_at=in_minutes(-1))
    Task.objects.get().case.__class__.objects.update(deadline=in_minutes(-1))
    assert tools(page()) == []
    assert tools(page("?state=expired")) == ["send_money"]


def test_pages_go_on_where_the_last_one_ended(page, open_case, monkeypatch):
    monkeypatch.setattr(pages, "PAGE", 2)
    for number in range(5):
        open_case(exhibit=shown(f"t{number}"), deadline=in_minutes(5 + number // 2) if number < 3 else None)
    seen, query = [], ""
    while True:
        response = page(f"?{query}")
        seen += tools(response)
        if not (query := response.context["next_page"]):
            break
    assert seen == ["t0", "t1", "t2", "t3", "t4"]


def test_counting_stops_and_says_so(page, open_case, monkeypatch):
    monkeypatch.setattr(counting, "COUNTED", 2)
    open_case(3)
    assert str(page().context["open_count"]) == "2+"
    assert [view.number for view in page().context["views"]] == [None] * 8


def test_the_rail_counts_what_its_links_find(page, alice, open_case):
    open_case(2, deadline=in_minutes(9))
    open_case(exhibit=asked(), kit=question_kit())
    claiming.claim(Task.objects.order_by("pk")[0], by=alice, now=timezone.now())
    for view in page().context["views"][:5]:
        assert len(tools(page(f"?{view.value}"))) == view.number


def test_htmx_gets_the_fragment_with_its_companions(page, open_case):
    open_case()
    response = page(**{"HX-Request": "true"})
    html = response.content.decode()
    assert "<html" not in html and 'id="queue-list"' in html
    assert html.count("hx-swap-oob") == 4
    assert "HX-Request" in response.headers["vary"]


def test_claim_and_release_without_javascript(client, page, alice, task):
    response = client.post(f"/tasks/{task.code}/claim/", {"next": "/queue/?due=15"})
    assert response.status_code == 302 and response.headers["location"] == "/queue/?due=15"
    task.refresh_from_db()
    assert task.claimed_by == alice
    client.post(f"/tasks/{task.code}/release/", {"next": "//evil.example/"})
    task.refresh_from_db()
    assert task.claimed_by is None


def test_the_second_to_claim_is_told_by_the_row(client, page, bob, task):
    claiming.claim(task, by=bob, now=timezone.now())
    response = client.post(f"/tasks/{task.code}/claim/", headers={"HX-Request": "true"})
    assert response.status_code == 409
    assert f'id="task-{task.code}"' in response.content.decode() and "bob" in response.content.decode()


def test_what_is_not_theirs_cannot_be_claimed(client, charlie, task):
    client.force_login(charlie)
    assert client.post(f"/tasks/{task.code}/claim/").status_code == 404
    assert client.get(f"/tasks/{task.code}/claim/").status_code == 405


def test_hostile_names_are_text(page, open_case):
    open_case(exhibit=shown("<b>x</b>\u202e", '{"<i>k</i>": "<script>alert(1)</script>"}'))
    html = page().content.decode()
    assert "<script>alert" not in html and "<b>x" not in html and "<i>k" not in html
    assert "U+202E" in html


def test_queries_and_bytes_are_few_however_much_waits(page, open_case, payments, django_assert_max_num_queries):
    for number in range(60):
        open_case(exhibit=shown(f"tool_{number}"), deadline=in_minutes(number + 20) if number % 2 else None)
    page()
    with django_assert_max_num_queries(8):
        response = page()
    assert len(response.content) < 100_000


@pytest.mark.parametrize(("queues", "said"), [((), "No queue is yours yet"), (("payments",), "Nothing waits for you")])
def test_an_empty_queue_says_what_to_do(client, payments, queues, said):
    client.force_login(person("dana", Role.REVIEWER, *queues))
    assert said in client.get("/queue/").content.decode()
    assert Queue.objects.count() == 1

"""A case of hundreds of tasks: one is open, all are within reach, and the page stays as small as it is for thirty."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import exhibits, people
from approvals.desk import longcase
from approvals.models import AuditEntry, Case, Sighting
from tests.pages import Page
from tests.people import decide, new_task, shown

FEW, MANY = longcase.MOST_WHOLE + 5, 300
PAGES = 2 * longcase.LISTED + 10  # tasks on three pages of the list


@pytest.fixture
def long_case(open_case, payments) -> Case:
    """Each asks for another amount."""
    return open_case(tasks=[new_task(payments, n, exhibit=of(n)) for n in range(1, PAGES + 1)])


def of(number: int) -> exhibits.Content:
    return shown(args=f'{{"to": "ops@example.org", "amount": {number}.50, "note": "rent"}}')


@pytest.fixture
def read(client, alice):
    """What Alice sees at an address."""
    client.force_login(alice)

    def read(address: str) -> Page:
        answer = client.get(address)
        assert answer.status_code == 200
        return Page(answer.content.decode())

    return read


def test_three_hundred_questions_cost_what_thirty_cost(client, alice, open_case):
    client.force_login(alice)
    told = []
    for case in (open_case(FEW), open_case(MANY)):
        client.get(f"/cases/{case.code}/")  # who saw what is on record from here on
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(f"/cases/{case.code}/")
        told.append((len(queries), len(answer.content)))
    (few, little), (many, much) = told
    assert few == many and much < 1.5 * little and much < 120_000


def test_every_task_is_reached_page_by_page_and_none_twice(read, long_case):
    pages = [link for link in read(f"/cases/{long_case.code}/").links() if "&from=" in link]
    listed = [code for address in pages for code in in_list(read(address))]
    assert listed == list(long_case.tasks.order_by("position").values_list("code", flat=True))


def in_list(page: Page) -> list[str]:
    """The codes that the list leads to, one after the other."""
    return re.findall(r'class="case-list-one" href="[^"#]*#head-(T-\w+)"', page.source)


def test_a_task_has_its_own_address_with_its_form_and_its_neighbours(read, long_case):
    before, task, after = long_case.tasks.order_by("position")[60:63]
    page = read(f"/cases/{long_case.code}/?task={task.code}")
    (form,) = page.decisions()
    assert form.action == f"/tasks/{task.code}/decision/" and form.pointers["/amount"]["value"] == "62.50"
    assert f"Task 62 of {PAGES}" in page.text and "51–100" in page.text
    for near in (before, after):
        assert f"/cases/{long_case.code}/?task={near.code}#head-{near.code}" in page.links()


def test_deciding_leads_to_the_next_one_that_waits_and_at_the_end_to_the_first(client, read, alice, long_case):
    tasks = list(long_case.tasks.order_by("position"))
    decide(tasks[7], alice)
    (form,) = read(f"/cases/{long_case.code}/?task={tasks[6].code}").decisions()
    answer = client.post(form.action, form.filled(verdict="approved"))
    assert answer["Location"] == f"/cases/{long_case.code}/?task={tasks[8].code}#task-{tasks[8].code}"
    (form,) = read(f"/cases/{long_case.code}/?task={tasks[-1].code}").decisions()
    answer = client.post(form.action, form.filled(verdict="rejected"), headers={"HX-Request": "true"})
    assert answer["HX-Redirect"] == f"/cases/{long_case.code}/?task={tasks[0].code}#head-{tasks[0].code}"
    assert f"3 of {PAGES} decided" in read(f"/cases/{long_case.code}/").text


def test_what_is_wrong_stands_on_the_task_it_was_typed_on(client, read, long_case):
    task = long_case.tasks.get(position=80)
    (form,) = read(f"/cases/{long_case.code}/?task={task.code}").decisions()
    answer = client.post(form.action, form.type("/amount", "much").filled(verdict="approved"))
    (form,) = Page(answer.content.decode()).decisions()
    assert answer.status_code == 422
    assert form.action == f"/tasks/{task.code}/decision/" and form.pointers["/amount"]["value"] == "much"


def test_whoever_was_slower_is_told_on_the_task_they_were_on(client, bob, read, long_case):
    task = long_case.tasks.get(position=80)
    (form,) = read(f"/cases/{long_case.code}/?task={task.code}").decisions()
    decide(task, bob)
    answer = client.post(form.action, form.filled(verdict="approved"))
    assert answer.status_code == 409 and f"Task 81 of {PAGES}" in Page(answer.content.decode()).text


def test_only_what_was_on_screen_counts_as_seen(read, alice, long_case):
    task = long_case.tasks.get(position=99)
    read(f"/cases/{long_case.code}/?task={task.code}")
    assert list(Sighting.objects.values_list("task", flat=True)) == [task.pk]


def test_tasks_of_another_queue_stand_in_the_list_and_say_no_more(read, open_case, payments):
    travel = people.set_queue("travel", now=timezone.now())
    secret = shown(tool="book_flight", args='{"seat": "by the window"}')
    case = open_case(tasks=[new_task(payments, n) for n in range(1, FEW)] + [new_task(travel, FEW, exhibit=secret)])
    page = read(f"/cases/{case.code}/?task={case.tasks.get(queue=travel).code}")
    assert page.text.count("Task of another queue") == 2 and page.decisions() == []
    assert "book_flight" not in page.source and "by the window" not in page.source


def test_a_task_of_another_case_is_not_opened_here(read, task, long_case):
    page = read(f"/cases/{long_case.code}/?task={task.code}")
    assert task.code not in "".join(page.links()) and f"Task 1 of {PAGES}" in page.text


def test_a_call_is_compared_with_those_beside_it_in_the_list(read, long_case):
    assert "Differs from 49 other calls beside it in the list at amount 1.50" in read(f"/cases/{long_case.code}/").text


def test_questions_without_a_call_are_compared_with_nothing(read, open_case, payments):
    question = exhibits.Content(reason="confirmation", message="Sure?", agent_name="Payments bot")
    case = open_case(tasks=[new_task(payments, n, exhibit=question) for n in range(1, FEW)])
    assert "beside it in the list" not in read(f"/cases/{case.code}/").text


def test_an_entry_leads_to_the_part_of_the_record_that_tells_of_it(read, alice, open_case):
    case = open_case(30)
    first, last = case.tasks.order_by("position")[0], case.tasks.order_by("-position")[0]
    decide(last, alice)
    entry = AuditEntry.objects.get(verb="task.decided")
    source = read(f"/cases/{case.code}/record/?entry={entry.seq}").source
    assert f'id="entry-{entry.seq}"' in source and last.code in source and first.code not in source
    assert f"?entry={entry.seq}#entry-{entry.seq}" in read("/audit/").source


def test_equal_ones_are_still_decided_side_by_side(read, open_case):
    links = read(f"/cases/{open_case(FEW).code}/").links()
    (address,) = [link for link in links if link.startswith("/queue/side-by-side/")]
    assert address.count("task=T-") == 25 and "approved" in read(address).source


def test_hidden_values_are_shown_for_the_one_task_that_was_asked_for(client, read, open_case, payments):
    tasks = [new_task(payments, n, exhibit=shown(args=f'{{"password": "secret {n}"}}')) for n in range(1, FEW)]
    case = open_case(tasks=tasks)
    first, second = case.tasks.order_by("position")[:2]
    told = {"task": first.code, "reason": "to compare"}
    assert client.post(f"/cases/{case.code}/show-hidden/", told)["Location"].endswith(f"#task-{first.code}")
    assert "secret 1" in read(f"/cases/{case.code}/?task={first.code}").source
    assert "secret 2" not in read(f"/cases/{case.code}/?task={second.code}").source
    assert [entry.task for entry in AuditEntry.objects.filter(verb="values.shown")] == [first]


@pytest.mark.parametrize("taken_back", [True, False])
def test_what_is_shown_stays_shown_when_the_page_answers_a_recall(client, alice, open_case, payments, taken_back):
    tasks = [new_task(payments, n, exhibit=shown(args=f'{{"password": "secret {n}"}}')) for n in range(1, FEW)]
    case = open_case(tasks=tasks)
    first = case.tasks.order_by("position")[0]
    client.force_login(alice)
    client.post(f"/cases/{case.code}/show-hidden/", {"task": first.code, "reason": "to compare"})
    if taken_back:
        decide(first, alice)
    answer = client.post(f"/cases/{case.code}/recall/", {"task": first.code}, headers={"HX-Request": "true"})
    source = answer.content.decode()
    assert answer.status_code == (200 if taken_back else 409) and "secret 1" in source and "secret 2" not in source


def test_an_auditor_asks_no_more_of_the_database_than_a_reviewer(client, alice, carol, open_case):
    asked = []
    case = open_case(4 * FEW)
    for user in (alice, carol):
        client.force_login(user)
        client.get(f"/cases/{case.code}/")
        with CaptureQueriesContext(connection) as queries:
            client.get(f"/cases/{case.code}/")
        asked.append(len(queries))
    assert asked[1] <= asked[0] + 2  # the look itself is on record


def test_the_record_of_a_long_case_comes_in_parts_and_whole_to_be_printed(read, alice, open_case):
    case = open_case(30)
    tasks = list(case.tasks.order_by("position"))
    for task in (tasks[0], tasks[-1]):
        decide(task, alice)
    first, rest, whole = (read(f"/cases/{case.code}/record/{query}").text for query in ("", "?from=26", "?all=1"))
    for part, there in ((first, tasks[:25]), (rest, tasks[25:]), (whole, tasks)):
        assert [task.code in part for task in tasks] == [task in there for task in tasks]


def test_the_record_of_a_long_case_asks_as_often_as_a_short_one(client, carol, open_case):
    client.force_login(carol)
    asked = []
    for count in (2, FEW):
        case = open_case(count)
        with CaptureQueriesContext(connection) as queries:
            client.get(f"/cases/{case.code}/record/?all=1")
        asked.append(len(queries))
    assert asked[0] == asked[1]

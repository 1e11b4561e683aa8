"""A queue that wants long texts opened whole before a yes (R-51): asked of the record, on pages and by programs."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.utils import timezone

from approvals import intake, jsontext, people, tokens
from approvals.models import AuditEntry, Task
from approvals.refusals import Unread
from tests.approvals.test_hostile_text import TEN_THOUSAND_LINES
from tests.pages import Page
from tests.people import asked, decide, only_task, question_kit, shown

LONG = "\n".join(f"line {number}" for number in range(40))


@pytest.fixture
def long_task(open_case, payments) -> Task:
    people.set_queue("payments", whole_text_first=True, now=timezone.now())
    payments.refresh_from_db()
    return only_task(open_case(exhibit=shown(message=LONG)))


def opened() -> list[dict[str, str]]:
    return [jsontext.loads(entry.data) for entry in AuditEntry.objects.filter(verb="text.opened").order_by("seq")]


def page_of(client, person, task: Task) -> Page:
    client.force_login(person)
    return Page(client.get(f"/cases/{task.case.code}/").content.decode())


def offered(page: Page) -> list[str]:
    return [button["value"] for button in page.decisions()[0].buttons if button["name"] == "verdict"]


def whole(client, task: Task, part: str = "message", **headers: str) -> str:
    answer = client.get(f"/tasks/{task.code}/text/{part}/", headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_yes_before_the_whole_text_is_refused_and_a_no_is_not(alice, long_task):
    with pytest.raises(Unread) as refused:
        decide(long_task, alice)
    assert refused.value.parts == ["message"] and "what the agent says" in str(refused.value)
    assert "the whole text had not been opened" in AuditEntry.objects.get(verb="task.refused").sentence
    assert decide(long_task, alice, "rejected")


def test_approve_is_no_button_until_all_was_opened(alice, long_task, client):
    page = page_of(client, alice, long_task)
    assert offered(page) == ["rejected", "cancelled"] and "Open all of it before a yes" in page.text
    assert "Show all of it" in page.text and "Show the other" not in page.text
    assert LONG.splitlines()[-1] in whole(client, long_task)
    page = page_of(client, alice, long_task)
    assert offered(page) == ["approved", "rejected", "cancelled"] and "before a yes" not in page.text
    form = page.decisions()[0]
    assert client.post(form.action, form.filled(verdict="approved")).status_code == 303


def test_the_button_comes_with_the_text_where_a_script_brings_it(alice, long_task, client):
    page_of(client, alice, long_task)
    brought = whole(client, long_task, **{"HX-Request": "true"})
    assert f'id="verdicts-{long_task.code}" hx-swap-oob' in brought and 'value="approved"' in brought
    assert "hx-swap-oob" not in whole(client, long_task, **{"HX-Request": "true"})


def test_each_opening_is_one_entry_and_one_persons(alice, bob, long_task, client):
    for _again in range(2):
        page_of(client, alice, long_task)
        whole(client, long_task)
    assert opened() == [{"part": "message", "shownDigest": long_task.shown_digest}]
    assert "approved" not in offered(page_of(client, bob, long_task))
    with pytest.raises(Unread):
        decide(long_task, bob)


def test_what_is_asked_anew_is_opened_anew(alice, long_task, client):
    page_of(client, alice, long_task)
    whole(client, long_task)
    intake.refreeze(long_task, shown(message=LONG + "\none more"), now=timezone.now())
    with pytest.raises(Unread):
        decide(long_task, alice)


def test_long_arguments_count_and_short_texts_need_nothing(alice, open_case, long_task, client):
    short = only_task(open_case(queue=long_task.queue, exhibit=shown(message="Please.")))
    assert decide(short, alice)
    args = jsontext.dumps({"rows": ["x" * 100] * 300})
    rows = only_task(open_case(queue=long_task.queue, exhibit=shown(message="Please.", args=args)))
    with pytest.raises(Unread) as refused:
        decide(rows, alice)
    assert refused.value.parts == ["arguments"]
    client.force_login(alice)
    whole(client, rows, "arguments")
    assert decide(rows, alice)


def test_an_answer_to_a_long_question_waits_too(alice, open_case, long_task):
    question = only_task(open_case(queue=long_task.queue, exhibit=asked(LONG), kit=question_kit()))
    with pytest.raises(Unread):
        decide(question, alice, "answered", input='"KR1"')


def test_who_only_reads_leaves_no_such_entry(carol, olga, long_task, client):
    for reader in (carol, olga):
        client.force_login(reader)
        whole(client, long_task)
    assert opened() == []


def test_a_program_has_it_whole_with_the_task_and_is_told_what_it_lacks(alice, long_task, client):
    headers = {"Authorization": f"Bearer {tokens.issue(alice, now=timezone.now())}"}
    address, body = f"/api/v1/tasks/{long_task.code}", {"verdict": "approved", "shownDigest": long_task.shown_digest}
    said = client.post(f"{address}/decision", body, content_type="application/json", headers=headers)
    assert (said.status_code, said.json()["code"], said.json()["unread"]) == (409, "unread", ["message"])
    assert client.get(address, headers=headers).json()["message"] == LONG
    said = client.post(f"{address}/decision", body, content_type="application/json", headers=headers)
    assert said.status_code == 200 and len(opened()) == 1


def test_a_room_of_high_risk_waits_as_well(alice, long_task, client):
    people.set_queue("payments", risk="high", now=timezone.now())
    assert "approved" not in offered(page_of(client, alice, long_task))
    brought = whole(client, long_task, **{"HX-Request": "true"})
    assert 'value="approved"' in brought and 'value="rejected"' not in brought


def test_the_rule_is_set_by_command_and_stands_in_the_record(payments, open_case, carol, client):
    call_command("add_queue", "payments", "--whole-text-first", "yes")
    payments.refresh_from_db()
    assert payments.whole_text_first
    case = open_case(queue=payments)
    client.force_login(carol)
    assert "every long text is opened before a yes" in client.get(f"/cases/{case.code}/record/").content.decode()
    call_command("add_queue", "payments", "--whole-text-first", "no")
    payments.refresh_from_db()
    assert not payments.whole_text_first


def test_a_megabyte_waits_on_a_small_page_below_the_arguments(alice, open_case, long_task, client):
    task = only_task(open_case(queue=long_task.queue, exhibit=shown(message=TEN_THOUSAND_LINES)))
    page = page_of(client, alice, task)
    assert len(page.source) < 300_000 and page.source.index('name="v/amount"') < page.source.index("line 00000")
    assert "approved" not in offered(page)
    assert "line 09999" in whole(client, task) and "approved" in offered(page_of(client, alice, task))

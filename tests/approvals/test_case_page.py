"""The case file as people read it."""

from __future__ import annotations

import json
import re

import pytest
from django.db import connection
from django.utils import timezone

from approvals import people, reviewing
from approvals.models import Case
from approvals.models.people import Role
from tests.pages import Page
from tests.people import approval_kit, asked, decide, in_seconds, new_task, only_task, person, question_kit, shown


@pytest.fixture
def read(client):
    """Open a case as somebody; gives back the page taken apart."""

    def read(case: Case, user) -> Page:
        client.force_login(user)
        answer = client.get(f"/cases/{case.code}/")
        assert answer.status_code == 200, answer.status_code
        return Page(answer.content.decode())

    return read


def test_a_reviewer_sees_fields_raw_json_and_equal_buttons(alice, task, read):
    page = read(task.case, alice)
    form = page.decisions()[0]
    assert {"/to", "/amount", "/note"} <= set(form.pointers)
    assert form.pointers["/amount"]["value"] == "120.50"
    assert form.raw is not None and "int-1" in form.fields.values()
    assert page.verdicts() == ["approved", "rejected", "cancelled"]


def test_nothing_is_chosen_or_focused_for_anybody(alice, task, read):
    page = read(task.case, alice)
    assert not [given for _tag, given in page.tags if "autofocus" in given]


def test_those_who_may_not_see_it_get_404(charlie, task, client):
    client.force_login(charlie)
    assert client.get(f"/cases/{task.case.code}/").status_code == 404


def test_an_auditor_reads_and_is_told_why_there_are_no_buttons(carol, task, read):
    page = read(task.case, carol)
    assert page.verdicts() == []
    assert "Only reviewers of the queue decide." in page.text
    assert "120.50" in page.text


def test_an_operator_may_only_cancel(olga, task, read):
    page = read(task.case, olga)
    assert page.verdicts() == ["cancelled"]
    assert "Operators cancel; approving and answering is for reviewers." in page.text


def test_a_decided_task_shows_what_changed_and_by_whom(alice, carol, task, read):
    decide(task, alice, edits='{"to": "ops@example.org", "amount": 99, "note": "rent"}', comment="agreed on 99")
    page = read(task.case, carol)
    assert "Approved with 1 change" in page.text and "agreed on 99" in page.text
    assert re.search(r"/amount number 120\.50 99 ", page.text)


def test_what_was_decided_stands_before_what_was_proposed(alice, task, read):
    decide(task, alice)
    text = read(task.case, alice).text
    assert 0 < text.index("Approved: ") < text.index(task.code) < text.index("Proposal")


def test_a_call_without_a_name_makes_no_sentence_with_a_hole(alice, open_case, read):
    nameless = read(open_case(exhibit=shown("")), alice)
    assert "the agent is told yes" in nameless.text and "says no" in nameless.text
    assert "lets" not in nameless.text and "does not run" not in nameless.text


def test_only_its_author_can_recall_a_decision_from_the_page(alice, bob, task, read):
    decide(task, alice)
    assert [form for form in read(task.case, alice).forms if form.action.endswith("/recall/")]
    assert not [form for form in read(task.case, bob).forms if form.action.endswith("/recall/")]


def test_three_questions_have_three_forms_whose_names_and_ids_never_meet(alice, open_case, read):
    page = read(open_case(3), alice)
    assert len(page.decisions()) == 3
    ids = [given["id"] for _tag, given in page.tags if "id" in given]
    assert sorted(ids) == sorted(set(ids))
    assert "0 of 3 decided" in page.text and "2. send_money" in page.text


def test_a_task_of_another_queue_shows_its_state_and_no_more(alice, payments, open_case, read):
    travel = people.set_queue("travel", now=timezone.now())
    secret = new_task(travel, 2, exhibit=shown(tool="book_flight", args='{"seat": "by the window"}'))
    page = read(open_case(tasks=[new_task(payments), secret]), alice)
    assert "Task of another queue" in page.text and "travel" in page.text
    assert "book_flight" not in page.source and "by the window" not in page.source


def test_a_question_is_one_box_of_json_when_it_has_no_shape(alice, payments, open_case, read):
    case = open_case(tasks=[new_task(payments, exhibit=asked(), kit=question_kit())])
    page = read(case, alice)
    form = page.decisions()[0]
    assert form.raw is not None
    assert page.verdicts() == ["answered", "cancelled"]
    assert "Payer asks for input" in page.text and "Which account?" in page.text


def test_a_verdict_that_cannot_be_given_says_why(alice, open_case, read):
    kit = approval_kit()
    del kit.forms["rejected"]
    kit.impossible["rejected"] = "This agent takes a no for a yes."
    page = read(open_case(kit=kit), alice)
    assert "This agent takes a no for a yes." in page.text
    assert page.verdicts() == ["approved", "cancelled"]


def test_arguments_that_cannot_be_edited_are_shown_with_the_reason(alice, open_case, read):
    kit = approval_kit(no_edits="The other side takes no edits.")
    kit.forms["approved"] = type(kit.forms["approved"])(answer='{"approved":true}')
    page = read(open_case(kit=kit), alice)
    assert "The other side takes no edits." in page.text and "120.50" in page.text
    assert page.decisions()[0].pointers == {}


def test_where_it_stands_is_said_with_what_it_means_for_all(alice, open_case, read):
    blocked = open_case(2, case={"blocked": "The agent’s address changed."})
    page = read(blocked, alice)
    assert "blocked" in page.flags and "The agent’s address changed." in page.text
    assert page.verdicts() == []

    quarantined = read(open_case(case={"quarantined": True}), alice)
    assert "quarantined" in quarantined.flags and quarantined.verdicts() == []


def test_an_expired_case_says_that_all_its_tasks_are(alice, open_case, read):
    page = read(open_case(2, deadline=in_seconds(-60)), alice)
    assert "expired" in page.flags and "one expired task expires all" in page.text
    assert page.verdicts() == []


def test_a_withdrawn_case_says_that_nothing_is_sent(alice, open_case, read):
    case = open_case()
    reviewing.withdraw(case, because="superseded", now=timezone.now())
    page = read(case, alice)
    assert "Payer wanted to run" in page.text and "wants to run" not in page.text
    assert "withdrawn" in page.flags and "Nothing is sent for any of its tasks." in page.text


def test_hostile_text_stays_text(alice, open_case, read):
    evil = '</pre><script>alert(1)</script>{% now "Y" %}\u202e'
    case = open_case(
        exhibit=shown(
            args='{"to": "<img src=x onerror=alert(1)>"}',
            message=evil,
            messages=['{"role":"user","content":"<b>x</b>"}'],
        )
    )
    page = read(case, alice)
    assert "<script>alert" not in page.source and "<img src=x" not in page.source and "<b>x</b>" not in page.source
    assert "U+202E" in page.text


def test_the_comment_says_whether_the_agent_sees_it(alice, open_case, read):
    assert "the agent sees the comment with: Reject" in read(open_case(), alice).text


def test_the_trail_of_the_case_is_on_its_page(alice, carol, task, read):
    decide(task, alice)
    text = read(task.case, carol).text
    assert text.index("case.opened") < text.index("task.decided")


def test_the_next_task_of_the_queue_is_offered_when_nothing_is_left(alice, open_case, read):
    first, second = open_case(), open_case()
    decide(only_task(first), alice)
    code = only_task(second).code
    assert f"/cases/{second.code}/?task={code}#task-{code}" in read(first, alice).links()


def test_asked_again_shows_what_was_said_before(alice, payments, open_case, read):
    before = only_task(open_case())
    decide(before, alice, "rejected", comment="not this one")
    again = open_case(tasks=[new_task(payments, asked_before=before)], case={"previous": before.case})
    page = read(again, alice)
    assert "Asked before" in page.text and "not this one" in page.text
    assert f"/cases/{before.case.code}/" in page.links()


def test_answering_again_starts_from_the_old_answer(alice, payments, open_case, read):
    before = only_task(open_case())
    decide(before, alice, edits='{"to": "ops@example.org", "amount": 99, "note": "rent"}')
    reviewing.withdraw(before.case, because="answered_again", now=timezone.now())
    again = open_case(tasks=[new_task(payments, asked_before=before)], case={"previous": before.case})
    form = read(again, alice).decisions()[0]
    assert form.pointers["/amount"]["value"] == "99"


def test_a_service_persons_decision_says_so(carol, task, read, payments):
    robot = person("robot", Role.REVIEWER, "payments", service=True)
    decide(task, robot)
    assert "service" in read(task.case, carol).text


def test_the_number_of_queries_does_not_grow_with_the_tasks(alice, open_case, client, django_assert_max_num_queries):
    client.force_login(alice)
    few, many = open_case(1), open_case(12)
    most = 26 if connection.vendor == "postgresql" else 25  # there the lock of the chain is a statement of its own
    with django_assert_max_num_queries(most):
        client.get(f"/cases/{many.code}/")
    with django_assert_max_num_queries(most):
        client.get(f"/cases/{few.code}/")


def test_of_thousands_of_arguments_the_first_are_laid_out_and_all_are_one_step_away(alice, open_case, read, client):
    args = json.dumps({f"k{n}": f"v{n}." for n in range(3000)})
    case = open_case(exhibit=shown(args=args))
    page = read(case, alice)
    assert "the first 500 of 3000 arguments" in page.text and f"not all here: {len(args) / 1000:.1f} kB" in page.text
    assert f"/tasks/{only_task(case).code}/text/arguments/" in page.links() and len(page.source) < 300_000
    assert "v2999." in client.get(f"/tasks/{only_task(case).code}/text/arguments/").content.decode()


def test_a_fragment_is_the_case_alone(alice, task, client):
    client.force_login(alice)
    answer = client.get(f"/cases/{task.case.code}/", headers={"HX-Request": "true"})
    assert b"<html" not in answer.content and b'id="case-file"' in answer.content
    assert "HX-Request" in answer["Vary"]

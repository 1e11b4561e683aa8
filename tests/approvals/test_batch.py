"""One answer to an explicit list: equal calls only, never of high risk, each decision and entry its own."""

from __future__ import annotations

import pytest
from django.utils import timezone

from approvals import people
from approvals.models import AuditEntry, Decision
from approvals.refusals import Invalid
from approvals.trail import verification
from approvals.verbs import batch
from tests.pages import Page
from tests.people import asked, decide, in_seconds, new_task, only_task, question_kit, shown

pytestmark = pytest.mark.django_db
NAME = "B-23456789"


@pytest.fixture
def alike(open_case):
    """Three tasks that ask for the same call."""
    return [only_task(open_case()) for _case in range(3)]


def chosen(tasks):
    return [batch.Chosen(task, task.shown_digest) for task in tasks]


def decided(tasks, by, verdict="approved", **more):
    return batch.decide(chosen(tasks), by=by, verdict=verdict, batch=NAME, now=timezone.now(), **more)


def refusals(outcomes):
    return [outcome.refused and outcome.refused.code for outcome in outcomes]


def test_each_is_a_decision_and_an_entry_with_the_lists_id(alice, alike):
    decided(alike, alice, comment="same as yesterday", reason_code="checked")
    assert Decision.objects.filter(verdict="approved", comment="same as yesterday", by=alice).count() == 3
    entries = AuditEntry.objects.filter(verb="task.decided")
    assert entries.count() == 3 and all(NAME in entry.data for entry in entries)


def test_the_trail_of_a_list_stands_the_check(alice, alike):
    decided(alike, alice)
    assert verification.verify().findings == []


def test_one_refused_does_not_stop_the_others(alice, bob, alike, open_case):
    decide(alike[0], bob, "rejected")
    late = only_task(open_case(deadline=in_seconds(1), now=timezone.now()))
    outcomes = decided([*alike, late], alice)
    assert refusals(outcomes) == ["decided", None, None, "expired"]


def test_what_changed_since_it_was_shown_is_refused(alice, alike):
    stale = batch.Chosen(alike[0], "0" * 64)
    outcomes = batch.decide([stale, *chosen(alike[1:])], by=alice, verdict="rejected", batch=NAME, now=timezone.now())
    assert refusals(outcomes) == ["changed", None, None]


def test_rights_are_those_of_each_task(charlie, olga, alike):
    for person in (charlie, olga):
        assert refusals(decided(alike, person, "rejected")) == ["not_allowed"] * 3


def test_high_risk_is_refused_even_when_it_became_so_meanwhile(alice, alike):
    people.set_queue("payments", risk="high", now=timezone.now())
    assert refusals(decided(alike, alice)) == ["not_allowed"] * 3
    assert not Decision.objects.exists()


@pytest.mark.parametrize("args", ['{"to":"ops@example.org","amount":120.50,"note":"rent"}', '{"to": "x"}'])
def test_only_calls_that_are_equal_to_the_byte_are_approved_together(alice, alike, open_case, args):
    other = only_task(open_case(exhibit=shown(args=args)))
    with pytest.raises(Invalid, match="Only equal arguments"):
        decided([*alike, other], alice)
    assert not Decision.objects.exists()
    assert refusals(decided([*alike, other], alice, "rejected")) == [None] * 4


def test_equal_bytes_of_another_agent_are_another_call(alice, alike, payments, open_case):
    other = only_task(open_case(tasks=[new_task(payments)], case={"agent": "other"}))
    with pytest.raises(Invalid):
        decided([alike[0], other], alice)


@pytest.mark.parametrize(
    ("verdict", "name", "count"),
    [("answered", NAME, 1), ("cancelled", NAME, 1), ("approved", "mine", 1), ("approved", NAME, 0)],
)
def test_a_list_that_is_wrong_as_a_whole_decides_nothing(alice, alike, verdict, name, count):
    with pytest.raises(Invalid):
        batch.decide(chosen(alike[:count]), by=alice, verdict=verdict, batch=name, now=timezone.now())
    assert not Decision.objects.exists()


def test_a_list_has_a_limit(alice, alike, monkeypatch):
    monkeypatch.setattr(batch, "MOST", 2)
    with pytest.raises(Invalid, match="At most 2"):
        decided(alike, alice)


def test_the_same_list_twice_is_decided_once(alice, alike):
    first, again = decided(alike, alice), decided(alike, alice)
    assert [one.decision.pk for one in first] == [one.decision.pk for one in again]
    assert Decision.objects.count() == 3


@pytest.fixture
def beside(client, alice):
    client.force_login(alice)
    return lambda *tasks: client.get("/queue/side-by-side/", {"task": [task.code for task in tasks]})


def posted(client, tasks, **more):
    pairs = [f"{task.code}:{task.shown_digest}" for task in tasks]
    return client.post("/queue/side-by-side/", {"task": pairs, "batch": NAME, "next": "/queue/", **more})


def test_the_page_offers_approval_for_equal_calls_only(beside, alike, open_case):
    page = beside(*alike)
    assert [len(equal.lines) for equal in page.context["beside"].equal] == [3] and b"Approve all 3" in page.content
    other = only_task(open_case(exhibit=shown(args='{"to": "x"}')))
    assert b'value="approved"' not in beside(alike[0], other).content


def test_what_differs_stands_in_a_column_and_what_is_equal_is_said_once(beside, open_case):
    rows = [("18.90", "lost"), ("24.50", "lost"), ("249.00", "lost"), ("22.00", "wrong")]
    tasks = [
        only_task(open_case(exhibit=shown(args=f'{{"currency": "EUR", "amount": {amount}, "why": "{why}"}}')))
        for amount, why in rows
    ]
    (table,) = beside(*tasks).context["beside"].tables
    assert table.same == [("currency", "EUR")] and table.names == ["amount", "why"]
    assert [[cell.stands_out for cell in line.cells] for line in table.lines] == [
        [False, False], [False, False], [True, False], [False, True],
    ]  # fmt: skip


def test_questions_high_risk_and_decided_ones_are_shown_and_not_in_the_list(client, beside, alice, alike, open_case):
    question = only_task(open_case(exhibit=asked(), kit=question_kit()))
    decide(alike[0], alice)
    page = beside(question, *alike)
    assert [line.why_not is None for line in page.context["beside"].lines] == [False, False, True, True]
    people.set_queue("payments", risk="high", now=timezone.now())
    assert b'name="verdict"' not in beside(*alike).content


def test_arguments_too_long_to_be_shown_whole_are_not_approved_together(beside, open_case):
    tasks = [only_task(open_case(exhibit=shown(args=f'{{"body": "{"x" * 500}"}}'))) for _case in range(2)]
    page = beside(*tasks)
    assert b'value="approved"' not in page.content and b'value="rejected"' in page.content


def test_a_name_that_stands_twice_hides_nothing(beside, open_case):
    args = '{"to": "mina", "to": "evil"}'
    page = beside(*[only_task(open_case(exhibit=shown(args=args))) for _case in range(2)])
    assert page.context["beside"].tables[0].same == [("", args)]


def test_the_answer_says_what_became_of_each(client, alice, bob, alike):
    decide(alike[0], bob, "rejected")
    client.force_login(alice)
    page = posted(client, alike, verdict="approved")
    assert page.context["done"] == 2 and "Already decided by bob" in page.content.decode()


def in_form(answer, name):
    return [given["value"] for _tag, given in Page(answer.content.decode()).tags if given.get("name") == name]


def onward(answer):
    return [link for link in Page(answer.content.decode()).links() if "side-by-side" in link]


def test_what_is_more_than_one_list_comes_after_it_and_each_is_shown_first(client, beside, open_case, monkeypatch):
    monkeypatch.setattr(batch, "MOST", 2)
    tasks = [only_task(open_case()) for _case in range(6)]
    page, sizes = beside(*tasks), []
    while page:
        given = {name: in_form(page, name) for name in ("task", "chosen", "batch", "next")}
        outcome = client.post("/queue/side-by-side/", {**given, "verdict": "approved"})
        sizes.append(outcome.context["done"])
        page = next(map(client.get, onward(outcome)), None)
    assert sizes == [2, 2, 2] and Decision.objects.filter(verdict="approved").count() == 6


def test_the_other_set_of_a_list_comes_after_the_one_that_was_decided(client, beside, alike, open_case):
    others = [only_task(open_case(exhibit=shown(args='{"to": "x"}'))) for _case in range(2)]
    assert in_form(beside(*alike, *others), "chosen")[: len(alike)] == [task.code for task in alike]
    outcome = posted(client, alike, verdict="approved", chosen=[task.code for task in (*alike, *others)])
    answer = client.get(*onward(outcome))
    assert [line.task for line in answer.context["beside"].open_lines] == others
    assert answer.context["back"] == "/queue/"


def test_a_refused_list_is_shown_again_with_its_comment(client, alice, alike, open_case):
    client.force_login(alice)
    other = only_task(open_case(exhibit=shown(args="{}")))
    page = posted(client, [alike[0], other], verdict="approved", comment="kept words")
    html = page.content.decode()
    assert page.status_code == 422 and "Only equal arguments" in html and "kept words" in html


def test_what_is_not_theirs_is_not_even_named(client, charlie, alike):
    client.force_login(charlie)
    page = client.get("/queue/side-by-side/", {"task": [task.code for task in alike]})
    assert alike[0].case.code not in page.content.decode()
    assert posted(client, alike, verdict="rejected").status_code == 422
    assert not Decision.objects.exists()


def test_a_required_reason_is_required_of_each(client, alice, payments, alike):
    payments.reason_required = True
    payments.save()
    client.force_login(alice)
    assert posted(client, alike, verdict="rejected").context["done"] == 0
    assert posted(client, alike, verdict="rejected", comment="not today").context["done"] == 3


def test_secrets_are_hidden_and_differ_all_the_same(beside, open_case):
    args = '{"user": "mina", "password": "%s"}'
    tasks = [only_task(open_case(exhibit=shown(args=args % word))) for word in ("first one", "first one", "other one")]
    page = beside(*tasks)
    assert b"first one" not in page.content and b"other one" not in page.content
    assert page.context["beside"].tables[0].names == ["password"]
    assert [len(equal.lines) for equal in page.context["beside"].equal] == [2]

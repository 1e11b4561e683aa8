"""A decision is made once, on what was shown, by someone who may, and is recorded exactly as it will leave."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import intake, reviewing
from approvals.kit import AnswerForm
from approvals.models import Decision
from tests.people import ARGS, approval_kit, asked, decide, in_seconds, new_task, only_task, question_kit, shown, verbs


def test_approval_is_recorded_and_settles_the_case(alice, task, settings):
    settings.UNDO_SECONDS = 10
    now = timezone.now()

    decision = decide(task, alice, now=now)

    case = task.case
    case.refresh_from_db()
    assert (decision.answer, decision.edits, decision.by) == ('{"approved":true}', None, alice)
    assert (case.state, case.deliver_after) == ("settled", now + timedelta(seconds=10))
    assert verbs(case) == ["case.opened", "task.opened", "task.decided", "case.settled"]


def test_edits_go_out_byte_for_byte(alice, task):
    edits = ARGS.replace("120.50", "1e2")

    decision = decide(task, alice, edits=edits)

    assert decision.answer == '{"approved":true,"editedArgs":' + edits + "}"
    entry = task.entries.get(verb="task.decided")
    assert '"changedPaths":["/amount"]' in entry.data
    assert "changes at /amount" in entry.sentence


def test_edits_that_change_nothing_are_none(alice, task):
    decision = decide(task, alice, edits='{"note":"rent","to":"ops@example.org","amount":120.50}')

    assert (decision.edits, decision.answer) == (None, '{"approved":true}')


def test_another_text_of_the_same_number_is_an_edit(alice, task):
    assert decide(task, alice, edits=ARGS.replace("120.50", "120.5")).edits is not None


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"verdict": "answered", "input": "1"}, "/input"),
        ({"verdict": "maybe"}, "/verdict"),
        ({"verdict": "rejected", "edits": '{"to":"x"}'}, "/edits"),
        ({"verdict": "approved", "edits": "{"}, "/edits"),
        ({"verdict": "approved", "comment": "x" * 10_001}, "/comment"),
    ],
)
def test_what_cannot_be_the_answer_is_refused_where_it_is_wrong(alice, task, more, pointer):
    with pytest.raises(reviewing.Invalid) as refused:
        decide(task, alice, **more)

    assert [problem.pointer for problem in refused.value.problems] == [pointer]
    assert not Decision.objects.exists()


def test_edits_are_refused_where_the_agent_takes_none(alice, open_case):
    forms = {"approved": AnswerForm(answer="true"), "rejected": AnswerForm(answer="false")}
    task = only_task(open_case(kit=approval_kit(forms=forms, schema=None)))

    with pytest.raises(reviewing.Invalid) as refused:
        decide(task, alice, edits='{"to": "me"}')
    assert refused.value.problems[0].pointer == "/edits"


def test_whole_answer_that_is_a_yes_is_an_approval(alice, open_case):
    first, second, third = open_case(3).tasks.order_by("position")

    assert decide(first, alice, "answered", input='{"approved": true}').verdict == "approved"
    edited = decide(second, alice, "answered", input='{"editedArgs": {"to": "x"}, "approved": true}')
    assert (edited.verdict, edited.edits, edited.input) == ("approved", '{"to": "x"}', None)
    no = decide(third, alice, "answered", input='{"approved": false, "reason": "too much"}')
    assert (no.verdict, no.comment) == ("rejected", "too much")


def test_free_answer_keeps_its_bytes(alice, open_case):
    task = only_task(open_case(kit=question_kit(), exhibit=asked()))

    decision = decide(task, alice, "answered", input='{"n": 1.0, "é": 12345678901234567890}')

    assert decision.answer == '{"n": 1.0, "é": 12345678901234567890}'


def test_reason_is_required_where_the_queue_says_so(alice, payments, task):
    payments.reason_required = True
    payments.save()

    with pytest.raises(reviewing.Invalid) as refused:
        decide(task, alice, comment="  ")
    assert refused.value.problems[0].pointer == "/comment"
    assert decide(task, alice, comment="checked").comment == "checked"


def test_second_decision_hears_who_was_first(alice, bob, task):
    first = decide(task, alice)

    with pytest.raises(reviewing.AlreadyDecided) as refused:
        decide(task, bob, "rejected")
    assert (refused.value.by, refused.value.verdict, refused.value.at) == (alice, "approved", first.at)


def test_decision_on_what_is_no_longer_shown_is_refused(alice, task):
    before = task.shown_digest
    intake.refreeze(task, shown(args='{"to":"thief"}'), now=timezone.now())

    with pytest.raises(reviewing.Changed):
        decide(task, alice, shown_digest=before)


def test_new_argument_text_voids_the_decision_and_asks_again(alice, task):
    decision = decide(task, alice)
    intake.refreeze(task, shown(args='{"to":"thief"}'), now=timezone.now())

    task.refresh_from_db()
    decision.refresh_from_db()
    assert (task.state, task.case.state, task.exhibits.count()) == ("open", "open", 2)
    assert decision.voided_at is not None
    assert verbs(task.case)[-2:] == ["exhibit.changed", "task.voided"]


def test_what_is_asked_again_as_it_was_at_first_can_be_decided(alice, task):
    for text in ('{"to":"thief"}', ARGS):
        intake.refreeze(task, shown(args=text), now=timezone.now())
    assert task.exhibits.count() == 3

    decision = decide(task, alice)
    assert decision.shown_digest == task.exhibits.get(version=1).digest


def test_taken_answer_stands_when_the_arguments_change(alice, task, settings):
    settings.UNDO_SECONDS = 0
    decision = decide(task, alice)
    reviewing.take(task.case, now=timezone.now())

    assert intake.refreeze(task, shown(args='{"to":"thief"}'), now=timezone.now())
    decision.refresh_from_db()
    assert decision.voided_at is None


def test_same_exhibit_again_changes_nothing(task):
    assert not intake.refreeze(task, shown(), now=timezone.now())
    assert task.exhibits.count() == 1


def test_same_key_and_content_is_the_decision_of_the_first_time(alice, task):
    first = decide(task, alice, idempotency_key="k1")

    assert decide(task, alice, idempotency_key="k1") == first
    with pytest.raises(reviewing.Invalid) as refused:
        decide(task, alice, "rejected", idempotency_key="k1")
    assert refused.value.code == "idempotency_mismatch"
    assert task.decisions.count() == 1


def test_key_is_the_persons_own(alice, bob, task):
    decide(task, alice, idempotency_key="k1")

    with pytest.raises(reviewing.AlreadyDecided):
        decide(task, bob, idempotency_key="k1")


def test_one_id_asked_twice_needs_one_answer(alice, open_case, payments):
    first, second = open_case(tasks=[new_task(payments, 7), new_task(payments, 7)]).tasks.order_by("position")
    decide(first, alice)

    with pytest.raises(reviewing.Invalid, match=first.code):
        decide(second, alice, "rejected")
    decide(second, alice)


@pytest.mark.parametrize(
    ("case", "refusal"),
    [
        ({"blocked": "The agent's address changed."}, reviewing.Blocked),
        ({"quarantined": True}, reviewing.Quarantined),
    ],
)
def test_case_that_cannot_be_answered_refuses(alice, open_case, case, refusal):
    with pytest.raises(refusal):
        decide(only_task(open_case(case=case)), alice)


def test_withdrawn_case_refuses(alice, task):
    reviewing.withdraw(task.case, because="superseded", now=timezone.now())

    with pytest.raises(reviewing.Withdrawn):
        decide(task, alice)


def test_settled_case_waits_less_before_its_deadline(alice, open_case, settings):
    settings.UNDO_SECONDS, settings.EXPIRY_MARGIN_SECONDS = 60, 5
    task = only_task(open_case(deadline=in_seconds(30)))
    decide(task, alice)

    task.case.refresh_from_db()
    assert task.case.deliver_after == task.case.deadline - timedelta(seconds=10)


def test_case_settles_with_its_last_task(alice, bob, open_case):
    case = open_case(2)
    first, second = case.tasks.order_by("position")
    decide(first, alice)
    case.refresh_from_db()
    assert case.state == "open"

    decide(second, bob, "rejected")
    case.refresh_from_db()
    assert case.state == "settled"


def test_trail_names_answer_and_exhibit(alice, task):
    decision = decide(task, alice)

    entry = task.entries.get(verb="task.decided")
    assert entry.actor == alice
    assert hashlib.sha256(b'{"approved":true}').hexdigest() in entry.data
    assert f'"shownDigest":"{decision.shown_digest}"' in entry.data
    assert alice.username.encode() not in entry.body

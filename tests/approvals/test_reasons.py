"""Why people decide: reason codes that can be counted, and what the other side reads of them."""

from __future__ import annotations

import pytest
from django.utils import timezone

from approvals import people
from approvals.models import AuditEntry
from approvals.refusals import Invalid
from approvals.trail import verification
from approvals.verbs import reasons
from tests.people import decide


def test_the_agent_reads_the_words_of_the_code_before_the_comment(alice, task):
    decision = decide(task, alice, "rejected", reason_code="wrong_details", comment="The IBAN is old.")
    assert decision.answer == '{"approved":false,"reason":"Details are wrong. The IBAN is old."}'
    assert (decision.comment, decision.reason_code) == ("The IBAN is old.", "wrong_details")


def test_a_code_alone_is_enough_to_be_told(alice, task):
    assert decide(task, alice, "rejected", reason_code="too_risky").answer == '{"approved":false,"reason":"Too risky."}'


def test_a_queue_has_reasons_of_its_own(alice, payments, task):
    people.set_queue("payments", reason_codes=[["dup", "paid twice"]], now=timezone.now())
    with pytest.raises(Invalid) as refused:
        decide(task, alice, "rejected", reason_code="too_risky")
    assert [problem.pointer for problem in refused.value.problems] == ["/reasonCode"]
    assert "Paid twice." in decide(task, alice, "rejected", reason_code="dup").answer


@pytest.mark.parametrize(("comment", "passes"), [("", False), ("   ok    ", False), ("The invoice says so.", True)])
def test_a_required_reason_has_a_least_length(comment, passes, alice, payments, task):
    people.set_queue("payments", reason_required=True, reason_length=10, now=timezone.now())
    task.queue.refresh_from_db()
    assert (reasons.problems(task.queue, code="", comment=comment) == []) is passes


def test_the_trail_keeps_the_code_and_agrees_with_the_row(alice, task):
    decide(task, alice, "rejected", reason_code="not_needed")
    assert '"reasonCode":"not_needed"' in AuditEntry.objects.get(verb="task.decided").data
    assert verification.verify().status == verification.GOOD


@pytest.mark.parametrize("texts", [["Bad Code=x"], ["dup="], ["=x"], ["a=1", "a=2"]])
def test_reasons_that_cannot_be_read_are_refused(texts):
    with pytest.raises(ValueError, match=r"CODE=WORDS|twice"):
        reasons.read_codes(texts)

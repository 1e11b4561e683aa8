"""Queues and how they decide: what is set, who may, what loosens a protection, and two people who save at once."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from approvals import people
from approvals.models import AuditEntry, MaskRule, Queue, Task, User
from approvals.models.people import Role
from approvals.verbs import claiming
from approvals.verbs.queuerules import Rules, loosened, merged, read
from tests.pages import Page
from tests.people import person


@pytest.fixture
def form(client, adam, payments):
    """Adam posts the form of payments with some things changed; `seen` is what it was drawn from."""
    client.force_login(adam)

    def form(seen: str = "", **changes: object):
        rules = Rules.of(payments)
        drawn = {
            "risk": rules.risk, "reason_length": str(rules.reason_length), "member": rules.members, "reason_codes": "",
            "seen": seen or rules.text, "reason": "as agreed", **changes,
        }  # fmt: skip
        answer = client.post(f"/queues/{payments.pk}/", {key: value for key, value in drawn.items() if value != ""})
        payments.refresh_from_db()
        return answer

    return form


def entries(verb: str) -> list[dict]:
    return [json.loads(entry.data) for entry in AuditEntry.objects.filter(verb=verb).order_by("seq")]


def told(answer) -> str:
    return Page(answer.content.decode()).text


def test_a_queue_is_made_and_listed(client, adam):
    client.force_login(adam)
    answer = client.post("/queues/", {"name": "refunds"}, follow=True)
    assert "How it decides" in told(answer) and "refunds" in told(client.get("/queues/"))
    assert client.post("/queues/", {"name": "refunds"}).status_code == 422


def test_rules_are_set_and_the_trail_keeps_what_they_were(form, payments):
    codes = "late = came too late\nok = agreed on the phone"
    answer = form(risk="high", reason_required="1", reason_length="20", whole_text_first="1", reason_codes=codes)
    assert answer.status_code == 303 and payments.risk == "high" and payments.whole_text_first
    assert payments.reason_codes == [["late", "came too late"], ["ok", "agreed on the phone"]]
    entry = entries("queue.changed")[-1]
    assert entry["was"]["risk"] == "medium" and entry["risk"] == "high" and entry["reason"] == "as agreed"


def test_who_decides_is_changed_from_the_queue_and_each_persons_rights_are_an_entry(form, alice, charlie, task):
    claiming.claim(task, by=alice, now=timezone.now())
    form(member=["charlie"])
    assert list(Queue.objects.get(name="payments").members.values_list("username", flat=True)) == ["charlie"]
    assert Task.objects.get(pk=task.pk).claimed_by is None
    changed = {entry["user"]: entry["to"]["queues"] for entry in entries("role.changed")}
    assert changed == {"alice": [], "charlie": ["payments", "travel"]}


def test_what_loosens_is_named_and_saved_only_when_agreed_to(form, payments):
    form(risk="high", reason_required="1")
    refused = form(risk="low")
    assert refused.status_code == 422 and payments.risk == "high"
    assert "From high risk to less" in told(refused) and "need no comment any more" in told(refused)
    assert form(risk="low", agreed=["risk"]).status_code == 422
    assert form(risk="low", agreed=["risk", "reason_required"]).status_code == 303 and payments.risk == "low"


def test_a_form_drawn_before_somebody_else_saved_shows_what_they_changed(form, payments):
    seen = Rules.of(payments).text
    people.set_queue("payments", risk="high", now=timezone.now())
    answer = form(seen=seen, risk="medium", reason_required="1")
    payments.refresh_from_db()
    page = answer.content.decode()
    assert answer.status_code == 409 and payments.risk == "high" and not payments.reason_required
    assert "<s>medium risk</s> → high risk" in page
    assert 'value="high" required checked' in page and 'name="reason_required" value="1" checked' in page


def test_two_changes_of_different_things_are_both_kept():
    was = Rules(
        risk="low", reason_required=False, reason_length=1, whole_text_first=False, reason_codes=[], members=["a", "b"]
    )  # fmt: skip
    wanted = Rules(**{**was.__dict__, "reason_required": True, "members": ["b", "c"]})
    now = Rules(**{**was.__dict__, "risk": "high", "members": ["a", "b", "d"]})
    both = merged(was, wanted, now)
    assert (both.risk, both.reason_required, both.members) == ("high", True, ["b", "c", "d"])


def test_more_protection_needs_nobodys_agreement():
    was = Rules(
        risk="low", reason_required=True, reason_length=5, whole_text_first=False, reason_codes=[], members=[]
    )  # fmt: skip
    assert loosened(was, Rules(**{**was.__dict__, "risk": "high", "reason_length": 9, "whole_text_first": True})) == {}
    assert set(loosened(was, Rules(**{**was.__dict__, "reason_length": 4}))) == {"reason_length"}


@pytest.mark.parametrize(
    ("field", "value"),
    [("risk", "none"), ("reason_length", "0"), ("reason_length", "x"), ("reason_length", "1001"),
     ("reason_codes", "Two words"), ("reason_codes", "a = x\na = y"), ("member", ["nemo"]), ("reason", " ")],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_changes_nothing(form, alice, field, value):
    before = Rules.of(Queue.objects.get(name="payments"))
    answer = form(**{field: value})
    assert answer.status_code == 422 and 'role="alert"' in answer.content.decode()
    assert Rules.of(Queue.objects.get(name="payments")) == before


@pytest.mark.parametrize("text", ["", "no", "{}", "[]", '{"risk":1}', Rules.__doc__])
def test_a_form_that_says_nothing_of_what_it_showed_is_refused(form, text):
    assert read(text) is None
    assert form(seen=text or "nothing").status_code == 409


def test_values_are_hidden_in_a_queue_and_shown_again_with_a_reason(client, adam, payments):
    client.force_login(adam)
    place = f"/queues/{payments.pk}/hidden/"
    client.post(place, {"name": "iban", "reason": "privacy"})
    rule = MaskRule.objects.get(queue=payments, by_name="iban")
    assert "iban" in told(client.get(f"/queues/{payments.pk}/"))
    client.post(place, {"rule": str(rule.pk), "reason": "audit is over"})
    assert not MaskRule.objects.exists()
    assert [(one["removed"], one["reason"]) for one in entries("mask.changed")] == [
        (False, "privacy"), (True, "audit is over"),
    ]  # fmt: skip


@pytest.mark.parametrize("what", [{"looks": "("}, {"name": "a", "looks": "b"}, {"name": ""}, {"name": "x" * 201}])
def test_a_rule_that_cannot_hide_anything_is_refused(client, adam, payments, what):
    client.force_login(adam)
    answer = client.post(f"/queues/{payments.pk}/hidden/", {**what, "reason": "why"}, follow=True)
    assert not MaskRule.objects.exists() and "hidden now" not in told(answer)


def test_only_who_may_decide_is_offered(client, adam, alice, carol, payments):
    person("gone", Role.REVIEWER, "payments")
    User.objects.filter(username="gone").update(is_active=False)
    client.force_login(adam)
    page = client.get(f"/queues/{payments.pk}/").content.decode()
    assert 'value="alice" checked' in page and 'value="carol"' not in page and 'value="gone" checked' in page

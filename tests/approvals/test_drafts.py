"""What was typed and not decided stays: per person, past the session, past a change of what is asked."""

from __future__ import annotations

import pytest
from django.utils import timezone

from approvals import exhibits, intake, reviewing
from approvals.models import Decision, Draft
from tests.pages import Form, Page
from tests.people import decide, shown

OTHER = '{"to": "mallory@example.org", "amount": 9000, "note": "rent"}'


@pytest.fixture
def desk(client, alice, task):
    client.force_login(alice)

    class Desk:
        def form(self) -> Form:
            return self.page().decisions()[0]

        def page(self) -> Page:
            return Page(client.get(f"/cases/{task.case.code}/").content.decode())

        def keep(self, form: Form, **headers: str):
            return client.post(f"/tasks/{task.code}/draft/", form.filled(), headers=headers)

        def decide(self, form: Form, verdict: str = "approved"):
            return client.post(form.action, form.filled(verdict=verdict))

    return Desk()


def typed(form: Form) -> Form:
    form.fields |= {"comment": "half a sen", "reason_code": "too_risky"}
    return form.type("/amount", "99")


def test_a_draft_is_there_after_the_session_is_gone(client, alice, desk):
    assert desk.keep(typed(desk.form())).status_code == 303
    client.logout()
    client.force_login(alice)
    again = desk.form()
    assert (again.pointers["/amount"]["value"], again.fields["comment"]) == ("99", "half a sen")
    assert again.fields["reason_code"] == "too_risky" and "only you see it" in desk.page().text


def test_nobody_else_sees_a_draft(client, bob, desk):
    desk.keep(typed(desk.form()))
    client.force_login(bob)
    assert desk.form().fields["comment"] == "" and desk.form().pointers["/amount"]["value"] == "120.50"


def test_a_draft_decides_nothing_and_writes_no_entry(desk, task):
    form = desk.form()
    before = task.case.entries.count()
    desk.keep(typed(form))
    assert (task.decisions.exists(), task.case.entries.count()) == (False, before)


def test_a_decision_ends_its_draft(desk):
    form = typed(desk.form())
    desk.keep(form)
    assert desk.decide(form).status_code == 303 and not Draft.objects.exists()


def test_the_fragment_says_when_it_was_kept(desk):
    answer = desk.keep(typed(desk.form()), **{"HX-Request": "true"})
    assert answer.status_code == 200 and b"Draft kept" in answer.content and b"<html" not in answer.content


def test_a_draft_over_something_else_stands_beside_the_new_form(desk, task):
    desk.keep(typed(desk.form()))
    intake.refreeze(task, shown(args=OTHER), now=timezone.now())
    page = desk.page()
    form = page.decisions()[0]
    assert "draft-on-old" in page.flags and form.pointers["/amount"]["value"] == "9000"
    assert form.fields["comment"] == "half a sen" and "120.50 99" in page.text


def test_a_form_made_before_a_change_is_refused_and_loses_nothing(desk, task):
    form = typed(desk.form())
    intake.refreeze(task, shown(args=OTHER), now=timezone.now())
    answer = desk.decide(form)
    page = Page(answer.content.decode())
    assert answer.status_code == 409 and not task.decisions.exists()
    assert "draft-on-old" in page.flags and page.decisions()[0].fields["comment"] == "half a sen"


def test_whoever_loses_a_race_finds_their_words_when_it_is_open_again(desk, bob, task):
    form = typed(desk.form())
    decision = decide(task, bob, "rejected")
    assert desk.decide(form).status_code == 409
    reviewing.recall(task.case, by=bob, now=timezone.now())
    assert decision.pk and desk.form().fields["comment"] == "half a sen"


def test_starting_again_drops_the_draft(client, desk, task):
    desk.keep(typed(desk.form()))
    client.post(f"/tasks/{task.code}/draft/", {"drop": "1"})
    assert desk.form().fields["comment"] == ""


def test_those_who_do_not_decide_keep_no_drafts(client, carol, desk, task):
    form = desk.form()
    client.force_login(carol)
    assert desk.keep(form).status_code == 403


def test_every_decision_names_the_bytes_that_were_shown_then(alice, open_case):
    """R-66: what changed meanwhile is refused each time, what is shown now is what the decision names."""
    case = open_case(30)
    for task in case.tasks.order_by("position"):
        before = task.shown_digest
        intake.refreeze(task, shown(args=f'{{"amount": {task.pk}}}'), now=timezone.now())
        with pytest.raises(reviewing.Changed):
            decide(task, alice, shown_digest=before)
        decide(task, alice)
    for made in Decision.objects.select_related("task"):
        body = made.task.exhibits.order_by("-version").first().body
        assert made.shown_digest == exhibits.digest(body)
    assert Decision.objects.count() == 30

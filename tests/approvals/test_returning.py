"""A session that ended, or another one: nobody meets an empty page, and nobody is told that something was done."""

from __future__ import annotations

import pytest
from django.test import Client

from approvals.models import Decision
from tests.people import PASSWORD

HTML = {"Accept": "text/html"}
HTMX = {"HX-Request": "true"}
ELSEWHERE = ("//evil.example/", "/\\evil.example/", "/\t/evil.example/", "///evil.example/")
NOT_OURS = ["https://evil.example/", "http://[", *(f"http://testserver{path}" for path in ELSEWHERE)]


def page_of(task):
    return f"/cases/{task.case.code}/"


def decide(client, task, **headers):
    said = {"verdict": "approved", "shown_digest": task.shown_digest}
    return client.post(f"/tasks/{task.code}/decision/", said, headers=headers)


def test_a_decision_after_the_session_ended_leads_back_to_its_case(client, alice, task):
    answer = decide(client, task, Referer=f"http://testserver{page_of(task)}")
    assert answer["Location"] == f"/accounts/login/?next=%2Fcases%2F{task.case.code}%2F"
    who = {"username": "alice", "password": PASSWORD, "next": page_of(task)}
    page = client.post("/accounts/login/", who, follow=True)
    assert page.redirect_chain == [(page_of(task), 302)]
    assert "nothing was done" in page.content.decode() and not Decision.objects.exists()


@pytest.mark.parametrize("elsewhere", ["", *NOT_OURS, "http://testserver/tasks/{}/decision/"])
def test_where_nobody_knows_the_page_the_queue_is_next(client, task, elsewhere):
    answer = decide(client, task, Referer=elsewhere.format(task.code))
    assert answer["Location"] == "/accounts/login/?next=%2Fqueue%2F"


def test_a_page_that_renews_itself_keeps_what_is_typed_and_says_why(client, task):
    here = {"HX-Current-URL": f"http://testserver{page_of(task)}"}
    for answer in (decide(client, task, **HTMX, **here), client.get(page_of(task), headers={**HTMX, **here})):
        assert (answer.status_code, answer["HX-Retarget"], answer["HX-Reswap"]) == (401, "#messages", "outerHTML")
        assert f'href="/accounts/login/?next=%2Fcases%2F{task.case.code}%2F"' in answer.content.decode()


@pytest.mark.parametrize("elsewhere", NOT_OURS)
def test_no_address_leads_back_to_somebody_elses_page(client, alice, task, elsewhere):
    renewed = client.get(page_of(task), headers={**HTMX, "HX-Current-URL": elsewhere})
    assert 'href="/accounts/login/?next=%2Fqueue%2F"' in renewed.content.decode()
    client.force_login(alice)
    claim = f"/tasks/{task.code}/claim/"
    assert client.post(claim, {"next": elsewhere})["Location"] == "/queue/"
    assert client.post(claim, headers={"Referer": elsewhere})["Location"] == "/queue/"
    form = client.get(f"/tasks/{task.code}/not-now/", {"next": elsewhere}).content.decode()
    assert '<input type="hidden" name="next" value="/queue/">' in form


def test_a_link_still_leads_to_where_it_was_going(client, task):
    assert client.get(page_of(task))["Location"] == f"/accounts/login/?next={page_of(task)}"


@pytest.mark.parametrize(("headers", "said"), [({}, "Open the page again"), (HTMX, "load the page again")])
def test_a_form_of_another_session_says_so(alice, task, headers, said):
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    answer = decide(client, task, **headers)
    assert answer.status_code == 403 and said in answer.content.decode() and not Decision.objects.exists()


def test_an_address_that_takes_deeds_only_is_no_empty_page(client, alice, task):
    client.force_login(alice)
    address = f"/tasks/{task.code}/decision/"
    answer = client.get(address, headers=HTML)
    assert (answer.status_code, answer["Allow"]) == (405, "POST") and "There is no page here" in answer.content.decode()
    assert client.get(address, headers={"Accept": "application/json"}).content == b""


def test_a_host_that_is_not_ours_is_told_in_words(client):
    answer = client.get("/queue/", headers={"Host": "elsewhere.example"})
    assert answer.status_code == 400 and "ALLOWED_HOSTS" in answer.content.decode()


def test_a_form_in_an_encoding_that_no_form_has_is_not_understood():
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.get("/accounts/login/")  # for the cookie that the form's token is compared with
    answer = client.post("/accounts/login/", b"a=1", content_type="application/x-www-form-urlencoded; charset=utf-16")
    assert answer.status_code == 400 and "not understood" in answer.content.decode()

"""People for administrators: in and out, what each may, and never a desk that nobody can look after."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from approvals import feed, reviewing, tokens
from approvals.models import AuditEntry, Draft, SetAside, Task, User
from approvals.models.people import Role
from approvals.refusals import Changed, Invalid, NotAllowed, WrongState
from approvals.verbs import asides, claiming, drafts, staffing
from tests.pages import Page
from tests.people import PASSWORD, decide, in_seconds, person


def entry(verb: str) -> AuditEntry:
    return AuditEntry.objects.filter(verb=verb).latest("seq")


def page_of(answer) -> Page:
    return Page(answer.content.decode())


@pytest.fixture
def desk(client, adam):
    """Adam's browser; posts to the page of a person."""
    client.force_login(adam)

    def post(whom: User, what: str, **fields: object):
        return client.post(f"/people/{whom.pseudonym}/{what}/", fields)

    return post


@pytest.fixture
def disable(adam):
    def disable(whom: User) -> None:
        staffing.disable(whom, because="left the team", by=adam, now=timezone.now())

    return disable


def test_everybody_is_listed_with_what_they_may(client, adam, alice, carol):
    tokens.issue(alice, now=timezone.now())
    client.force_login(adam)
    text = page_of(client.get("/people/")).text
    assert "alice" in text and "reviewer" in text and "payments" in text and "carol" in text and "auditor" in text
    assert "carol" not in page_of(client.get("/people/?q=ali")).text


def test_a_disabled_person_is_out_at_once(client, alice, adam, disable):
    token = tokens.issue(alice, now=timezone.now())
    client.force_login(alice)
    session = client.session.session_key
    assert feed.alive_sessions({session}) == {session: alice.pk}

    disable(alice)
    assert client.get("/queue/").status_code == 302
    assert tokens.owner(token, now=timezone.now()) is None
    assert feed.alive_sessions({session}) == {}
    assert not Client().login(username="alice", password=PASSWORD)
    assert json.loads(entry("user.disabled").data)["reason"] == "left the team"


def test_enabled_again_they_sign_in_anew_and_get_new_tokens(client, alice, adam, disable):
    token = tokens.issue(alice, now=timezone.now())
    client.force_login(alice)
    disable(alice)
    staffing.enable(alice, because="back", by=adam, now=timezone.now())
    assert client.get("/queue/").status_code == 302
    assert tokens.owner(token, now=timezone.now()) is None
    assert Client().login(username="alice", password=PASSWORD)


def test_what_a_disabled_person_did_stays_and_what_they_hold_is_free(alice, open_case, disable):
    held, decided, aside, typed = open_case(4).tasks.order_by("pk")
    claiming.claim(held, by=alice, now=timezone.now())
    decide(decided, alice)
    asides.set_aside(aside, by=alice, until=in_seconds(600), now=timezone.now())
    drafts.keep(typed, by=alice, post={"comment": "half"}, now=timezone.now())

    disable(alice)
    assert Task.objects.get(pk=held.pk).claimed_by is None
    assert Task.objects.get(pk=decided.pk).decisions.live().get().by == alice
    assert SetAside.objects.filter(user=alice).exists() and Draft.objects.filter(user=alice).exists()
    assert entry("task.released").sentence == f"{held.code} is free again: alice was disabled."


def test_a_disabled_person_decides_nothing_and_takes_nothing_back(alice, open_case, disable):
    first, second = open_case(2).tasks.order_by("pk")
    decide(first, alice)
    disable(alice)
    with pytest.raises(NotAllowed):
        decide(second, alice)
    with pytest.raises(NotAllowed):
        reviewing.recall(first.case, by=alice, now=timezone.now())


@pytest.mark.parametrize("deed", ["disable", "demote"])
def test_the_last_administrator_stays(desk, adam, deed):
    if deed == "disable":
        answer = desk(adam, "switch", to="off", reason="tired")
    else:
        answer = desk(adam, "rights", role="auditor", reason="tired", seen=staffing.shown(adam))
    adam = User.objects.get(pk=adam.pk)
    assert answer.status_code == 409 and "only administrator" in page_of(answer).text
    assert adam.is_active and adam.role == Role.ADMIN


def test_one_of_two_administrators_may_go(desk, adam):
    ada = person("ada", Role.ADMIN)
    assert desk(ada, "switch", to="off", reason="moved").status_code == 303
    assert desk(adam, "switch", to="off", reason="moved").status_code == 409


def test_an_administrator_without_a_way_in_does_not_count(desk, adam):
    person("robot", Role.ADMIN, service=True)
    staffing.add("newcomer", role=Role.ADMIN, queues=[], service=False, by=adam, now=timezone.now())
    assert desk(adam, "switch", to="off", reason="moved").status_code == 409


def test_another_role_frees_what_they_may_decide_no_more(desk, alice, task):
    claiming.claim(task, by=alice, now=timezone.now())
    answer = desk(alice, "rights", role="reviewer", queue=["travel"], reason="moved", seen=staffing.shown(alice))
    task.refresh_from_db()
    assert answer.status_code == 303 and task.claimed_by is None
    told = json.loads(entry("role.changed").data)
    assert told["from"]["queues"] == ["payments"] and told["to"]["queues"] == [] and told["reason"] == "moved"


def test_a_form_drawn_before_somebody_else_saved_is_refused(desk, alice, payments):
    seen = staffing.shown(alice)
    person("alice", Role.AUDITOR)
    answer = desk(alice, "rights", role="reviewer", queue=["payments"], reason="as before", seen=seen)
    assert answer.status_code == 409 and "alice is auditor now" in page_of(answer).text
    assert User.objects.get(pk=alice.pk).role == Role.AUDITOR


@pytest.mark.parametrize("what", ["rights", "switch"])
def test_a_change_without_a_reason_is_no_change(desk, alice, what):
    answer = desk(alice, what, role="auditor", to="off", reason=" ", seen=staffing.shown(alice))
    alice = User.objects.get(pk=alice.pk)
    assert answer.status_code == 422 and alice.is_active and alice.role == Role.REVIEWER


def test_sessions_end_and_the_password_stays(desk, alice):
    browser = Client()
    browser.force_login(alice)
    assert desk(alice, "sessions").status_code == 303
    assert browser.get("/queue/").status_code == 302
    assert Client().login(username="alice", password=PASSWORD)
    assert entry("session.ended").actor.username == "adam"


def test_tokens_are_revoked_one_by_one_or_all(desk, alice):
    made = [tokens.issue(alice, now=timezone.now()) for _number in range(3)]
    desk(alice, "tokens", token=str(alice.api_tokens.order_by("pk").first().pk))
    assert [bool(tokens.owner(token, now=timezone.now())) for token in made] == [False, True, True]
    desk(alice, "tokens", token="all")
    assert not any(tokens.owner(token, now=timezone.now()) for token in made)
    assert desk(alice, "tokens", token="all").status_code == 409


def link_on(answer) -> str:
    """The path of the link that a page shows."""
    return re.search(r'data-way-in="link">https?://[^/]+([^<]+)<', answer.content.decode())[1]


def test_somebody_new_chooses_a_password_by_a_link_that_works_once(client, desk, payments):
    answer = client.post("/people/new/", {"name": "nora", "role": "reviewer", "queue": ["payments"]})
    link, browser = link_on(answer), Client()
    form = browser.get(link, follow=True)
    chosen = {"new_password1": "a long way to Tipperary", "new_password2": "a long way to Tipperary"}
    assert browser.post(form.request["PATH_INFO"], chosen).status_code == 303
    assert browser.login(username="nora", password="a long way to Tipperary")
    assert Client().get(link).status_code == 404
    assert json.loads(entry("password.set").body)["actor"]["auth"] == ["link"]
    assert link.split("/")[-2] not in "".join(AuditEntry.objects.values_list("data", flat=True))


def test_a_link_ends_the_old_password_and_a_weak_new_one_is_refused(desk, alice):
    link, browser = link_on(desk(alice, "password")), Client()
    assert not browser.login(username="alice", password=PASSWORD)
    form = browser.get(link, follow=True).request["PATH_INFO"]
    assert browser.post(form, {"new_password1": "short", "new_password2": "short"}).status_code == 422


def test_a_link_is_worth_nothing_once_the_person_is_signed_out_everywhere_or_disabled(desk, alice, disable):
    first = link_on(desk(alice, "password"))
    desk(alice, "sessions")
    second = link_on(desk(alice, "password"))
    disable(alice)
    assert [Client().get(link).status_code for link in (first, second)] == [404, 404]


def test_a_program_gets_a_token_and_no_password(client, desk, payments):
    answer = client.post("/people/new/", {"name": "robot", "role": "reviewer", "service": "1", "queue": ["payments"]})
    token = re.search(r'data-way-in="token">([^<]+)<', answer.content.decode())[1]
    robot = tokens.owner(token, now=timezone.now())
    assert robot.is_service and desk(robot, "password").status_code == 409


@pytest.mark.parametrize("name", ["alice", "two words", "", "x" * 151])
def test_a_name_that_is_taken_or_none_is_refused_beside_its_field(client, desk, alice, name):
    answer = client.post("/people/new/", {"name": name, "role": "reviewer"})
    assert answer.status_code == 422 and 'id="new-name-error"' in answer.content.decode()


def test_commands_do_the_same_as_the_page(alice, adam):
    call_command("disable_user", "alice", "--reason", "left")
    assert not User.objects.get(pk=alice.pk).is_active
    with pytest.raises(CommandError, match="disabled already"):
        call_command("disable_user", "alice", "--reason", "left")
    call_command("enable_user", "alice", "--reason", "back")
    assert User.objects.get(pk=alice.pk).is_active
    with pytest.raises(CommandError, match="only administrator"):
        call_command("disable_user", "adam", "--reason", "left")
    with pytest.raises(CommandError, match="nobody"):
        call_command("enable_user", "nemo", "--reason", "back")


@pytest.mark.parametrize("words", [("--role", "reviewer"), ("--role", "admin", "--service")])
def test_the_shell_keeps_the_last_administrator_too(adam, words):
    person("robot", Role.ADMIN, service=True)
    with pytest.raises(CommandError, match="only administrator"):
        call_command("add_user", "adam", *words)
    adam.refresh_from_db()
    assert adam.role == Role.ADMIN and adam.has_usable_password() and not adam.is_service
    person("ada", Role.ADMIN)
    call_command("add_user", "adam", *words)
    assert json.loads(entry("role.changed").data)["from"]["role"] == "admin"


def test_one_who_could_not_sign_in_anyway_may_become_something_else(db):
    call_command("add_user", "mistaken", "--role", "admin")
    call_command("add_user", "mistaken", "--role", "auditor")
    assert User.objects.get(username="mistaken").role == Role.AUDITOR


def test_another_role_from_the_shell_frees_what_they_may_decide_no_more(alice, task):
    claiming.claim(task, by=alice, now=timezone.now())
    call_command("add_user", "alice", "--role", "reviewer", "--queue", "travel")
    task.refresh_from_db()
    assert task.claimed_by is None
    assert entry("task.released").sentence == f"{task.code} is free again: alice may not decide it any more."


def test_who_lost_the_role_meanwhile_changes_nobody(alice, adam):
    person("adam", Role.AUDITOR)
    with pytest.raises(NotAllowed):
        staffing.disable(alice, because="x", by=adam, now=timezone.now())


def test_one_who_is_not_disabled_is_not_enabled(alice, adam):
    with pytest.raises(WrongState):
        staffing.enable(alice, because="x", by=adam, now=timezone.now())


def test_a_name_typed_in_pieces_is_the_one_that_signs_in(client, alice, adam):
    told = {"role": Role.REVIEWER, "queues": [], "service": False, "by": adam, "now": timezone.now()}
    made = staffing.add(unicodedata.normalize("NFD", "김하나"), **told)
    made.set_password(PASSWORD)
    made.save()
    assert client.login(username="김하나", password=PASSWORD)
    with pytest.raises(Invalid):
        staffing.add("김하나", **told)


def test_in_korean_the_rights_that_changed_meanwhile_are_korean_too(alice, adam):
    told = {"role": Role.AUDITOR, "queues": [], "seen": "", "because": "moved", "by": adam, "now": timezone.now()}
    with override("ko"), pytest.raises(Changed) as refused:
        staffing.change_rights(alice, **told)
    assert "reviewer" not in str(refused.value) and "payments" in str(refused.value)

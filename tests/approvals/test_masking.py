"""Secrets in foreign values: hidden wherever a page or list shows them, whole where they are decided on and sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from approvals import audit, jsontext, people
from approvals.foreign import hiding, masking
from approvals.foreign.masking import Rules, hide
from approvals.models import Case, Queue, User
from tests.approvals.formpage import Filled
from tests.pages import Page
from tests.people import only_task, shown

KEY = "sk-live-51Habcdefghijklmnop"
LOOKS = [KEY, "ghp_" + "a1" * 15, "AKIA" + "B2" * 8, "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2Q",
         "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "is_hidden"),
    [
        ("password", True), ("dbPassword", True), ("stripe_api_key", True), ("X-Api-Key", True), ("access_token", True),
        ("Authorization", True), ("client_secret2", True), ("max_tokens", False), ("tokenCount", False),
        ("PassWord", True), ("pass-word", True), ("\uff50assword", True),
        ("db_pwd", True), ("keyPassphrase", True), ("passcode", True), ("새 비밀번호", True), ("totp", True),
        ("cvv", True), ("keyboard", False), ("author", False), ("secretary", False), ("pass", False), ("pin", False),
        ("boarding_pass", False), ("pinCode", False), ("cwd", False),
    ],
)  # fmt: skip
def test_names_tell_what_is_a_secret(name: str, is_hidden: bool) -> None:
    assert (hide(json.dumps({name: "abc"})).secrets != {}) is is_hidden


@pytest.mark.parametrize("secret", LOOKS)
def test_looks_tell_what_is_a_secret(secret: str) -> None:
    assert secret not in masking.masked_text(f"use {secret} for it")
    assert secret not in hide(json.dumps({"note": [f"use {secret}"]})).text


def test_ordinary_words_are_left_alone() -> None:
    ordinary = "an ordinary sentence, sk-short, INV-20418, task-force-of-the-year-2026, ops@db.example:5432/x"
    assert masking.masked_text(ordinary) == ordinary


def test_two_rules_over_one_secret_hide_it_once() -> None:
    rules = Rules(values=("abc[0-9]+", "[0-9]+def"))
    assert rules.spans("x abc123def y") == [(2, 11)]


def test_only_the_password_of_an_address_is_hidden() -> None:
    masked = masking.masked_text("see postgres://ops:hunter22@db.example/x")
    assert "hunter22" not in masked and "ops:" in masked and "@db.example/x" in masked


def test_everything_under_a_hidden_name_is_hidden_and_the_rest_keeps_its_bytes() -> None:
    text = '{"credentials": {"user":"u1","pin":1234,"on":true}, "n": 1.0,"n":2}'
    hidden = hide(text)
    assert len(hidden.secrets) == 2 and hidden.places == ("/credentials/user", "/credentials/pin")
    assert hidden.text.endswith('"on":true}, "n": 1.0,"n":2}')
    assert hidden.shown(hidden.text) == text


def test_a_token_moves_with_its_value_and_cannot_be_forged() -> None:
    hidden = hide('{"a":{"token":"abc"}}')
    (token,) = hidden.secrets
    assert hidden.shown(jsontext.dumps({"b": token})) == '{"b":"abc"}'
    forged = token.replace("hidden ", "hidden 0").replace("0", "f", 1)
    assert masking.tokens(token) and not masking.tokens(forged)


def test_a_token_of_other_values_never_leaves_as_a_text() -> None:
    (token,) = hide('{"token":"other"}').secrets
    with pytest.raises(LookupError):
        hide('{"token":"abc"}').shown(jsontext.dumps({"x": token}))


def test_a_form_works_over_what_its_page_never_held() -> None:
    form = Filled(None, '{"to":"a", "password":"hunter2","otp":917345}')
    assert "hunter2" not in form.page.source and "917345" not in form.page.source
    form.page.type("/to", "b")
    assert form.read().text == '{"to":"b", "password":"hunter2","otp":917345}'
    form.page.type("/password", "better")
    form.page.type("/otp", "1")
    assert form.read().text == '{"to":"b", "password":"better","otp":1}'


def test_a_key_of_several_lines_is_replaced_with_its_lines() -> None:
    form = Filled(None, '{"password":"-----BEGIN\\nabc"}')
    assert "BEGIN" not in form.page.source
    assert form.read().text == '{"password":"-----BEGIN\\nabc"}'
    form.page.type("/password", "one\ntwo\n")
    assert form.read().text == '{"password":"one\\ntwo\\n"}'
    assert form.shown(form.page.posted()).values["v/password"] == "one\ntwo\n"


def test_raw_json_is_edited_around_what_is_hidden() -> None:
    form = Filled(None, '{"to":"a","password":"hunter2"}')
    raw = json.loads(form.page.values["v:raw"])
    form.page.values["v:raw"] = json.dumps({**raw, "to": "b"})
    assert form.read().text == '{"to":"b","password":"hunter2"}'
    form.press("to-fields:v")
    assert "hunter2" not in form.page.source
    assert form.read().text == '{"to":"b","password":"hunter2"}'


def test_what_a_schema_keeps_from_eyes_is_hidden_too() -> None:
    form = Filled({"properties": {"door": {"type": "string", "writeOnly": True}}}, '{"door":"4711-blue"}')
    assert "4711-blue" not in form.page.source
    assert form.read().text == '{"door":"4711-blue"}'


def test_a_page_drawn_with_or_without_them_is_read_alike() -> None:
    value = '{"to":"a","password":"hunter2"}'
    with masking.applying(Rules(("password",)), lifted=True):
        shown = Filled(None, value)
        assert "hunter2" in shown.page.source
    assert shown.read().text == value
    covered = Filled(None, value)
    with masking.applying(Rules(("password",)), lifted=True):
        assert covered.read().text == value


SECRET = json.dumps({"to": "ops", "api_key": KEY, "note": "purple"})


@pytest.fixture
def page_of(client: Any) -> Any:
    def page_of(case: Case, user: User) -> str:
        client.force_login(user)
        return str(client.get(f"/cases/{case.code}/").content.decode())

    return page_of


def ask(client: Any, case: Case, reason: str = "the agent names the wrong account") -> int:
    return int(client.post(f"/cases/{case.code}/show-hidden/", {"reason": reason}).status_code)


def test_no_page_and_no_list_shows_a_secret(alice, carol, olga, open_case, page_of, client):
    case = open_case(exhibit=shown(args=SECRET))
    for user in (alice, carol, olga):
        source = page_of(case, user)
        assert KEY not in source and "hidden, 27 characters" in source
        assert KEY not in client.get("/queue/").content.decode()
    task = only_task(case)
    assert KEY not in task.headline + task.search_text


def test_a_reviewer_is_shown_them_with_a_reason_and_the_trail_says_so(alice, bob, open_case, page_of, client):
    case = open_case(exhibit=shown(args=SECRET))
    page_of(case, alice)
    assert ask(client, case, "") == 303
    assert KEY not in page_of(case, alice)
    assert ask(client, case) == 303
    assert KEY in client.get(f"/cases/{case.code}/").content.decode()
    entry = audit.trail_of(case).get(verb="values.shown")
    assert entry.actor == alice and json.loads(entry.data)["places"] == ["args/api_key"]
    assert KEY not in entry.data + entry.sentence + page_of(case, bob)


def test_those_who_do_not_decide_are_not_shown_them(olga, open_case, page_of, client):
    case = open_case(exhibit=shown(args=SECRET))
    page_of(case, olga)
    assert ask(client, case) == 403
    assert KEY not in page_of(case, olga)


def test_an_approval_over_hidden_values_sends_the_bytes_that_came(alice, open_case, page_of, client):
    case = open_case(exhibit=shown(args=SECRET))
    form = Page(page_of(case, alice)).decisions()[0]
    form.type("/note", "better")
    client.post(form.action, form.filled(verdict="approved"))
    edits = only_task(case).decisions.get().edits
    assert edits == SECRET.replace("purple", "better")


def test_a_secret_in_arguments_that_the_trail_keeps_as_a_text_is_hidden_too(alice, carol, open_case, page_of):
    case = open_case(exhibit=shown(args='{"to": "ops", "password": "purple", "inner": "{\\"otp\\": \\"424242\\"}"}'))
    for user in (alice, carol):
        page = page_of(case, user)
        assert "argsText" in page and "purple" not in page


def test_one_look_for_all_patterns_finds_what_each_of_them_finds() -> None:
    """Whatever can be in a pattern that people write, and whatever cannot stand beside others."""
    rules = Rules(values=(r"ab+c", r"(?i)secret", r"(\w)\1\1", r"(?<=key )\w+", r"x # y"))
    told = {"abbc": "abbc", "my SeCrEt": "SeCrEt", "key zzz": "zzz", "x # y": "x # y", "nothing": ""}
    for values in (rules.values, rules.values[:2], rules.values[3:4]):
        for text in told:
            apart = [place for one in values for place in Rules(values=(one,)).spans(text)]
            assert Rules(values=values).spans(text) == masking._joined(sorted(set(apart)))
    assert [rules.spans(text) for text in told] == [
        [(text.index(secret), text.index(secret) + len(secret))] if secret else [] for text, secret in told.items()
    ]


def test_a_queue_and_an_agent_hide_what_they_say(alice, payments, open_case, page_of):
    call_command("hide_values", "--name", "note", "--queue", "payments")
    call_command("hide_values", "--looks", "op.", "--agent", "payer")
    hidden = page_of(open_case(exhibit=shown(args=SECRET)), alice)
    assert "purple" not in hidden and "hidden, 3 characters" in hidden
    other = open_case(exhibit=shown(args=SECRET), case={"agent": "someone"}, queue=Queue.objects.create(name="other"))
    assert masking.hide(SECRET, hiding.rules_of_case(other.code)).places == ("/api_key",)
    call_command("hide_values", "--name", "note", "--queue", "payments", "--remove")
    assert "purple" in page_of(open_case(exhibit=shown(args=SECRET)), alice)


def test_the_rules_of_a_page_are_found_without_walking_through_all_cases(open_case):
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
    plan = hiding.tasks_beside(only_task(open_case()).code).explain()
    walking = {"sqlite": "SCAN ", "postgresql": "Seq Scan on "}[connection.vendor]
    assert [line for line in plan.splitlines() if walking in line] == []
    assert plan.count("(code=?)" if connection.vendor == "sqlite" else "(code)::text = ") >= 2


def test_the_api_gives_exact_bytes_to_who_may_see_the_task(alice, open_case, client):
    token = people.give_token(alice, now=timezone.now())
    code = only_task(open_case(exhibit=shown(args=SECRET))).code
    answer = client.get(f"/api/v1/tasks/{code}", headers={"authorization": f"Bearer {token}"})
    assert answer.json()["toolCall"]["argsText"] == SECRET

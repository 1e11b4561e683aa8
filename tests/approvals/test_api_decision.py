"""The decision by program: exact bytes in, one winner, the same answer for the same key."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from django.db import connection
from django.utils import timezone

from approvals import tokens
from approvals.api import auth
from approvals.models import Decision, StoredAnswer
from approvals.models.people import Role
from tests.people import asked, new_task, person, question_kit
from tests.programs import Program


def body(task, **members):
    parts = {"verdict": '"approved"', "shownDigest": json.dumps(task.shown_digest), **members}
    return "{" + ",".join(f"{json.dumps(name)}: {text}" for name, text in parts.items()) + "}"


def test_edits_arrive_with_the_text_of_their_numbers(alice, task):
    edits = '{"to": "ops@example.org", "amount": 1.0, "note": "rent"}'
    answer = Program(alice).post(f"tasks/{task.code}/decision", body(task, edits=edits))
    assert answer.status_code == 200, answer.content
    assert Decision.objects.get().edits == edits
    assert answer.json()["state"] == "settled"


@pytest.mark.parametrize("edits", ["null", '{"to": "ops@example.org", "amount": 1.0, "note": "rent"}'])
@pytest.mark.parametrize("tasks", [1, 2])
def test_the_answer_is_the_task_as_it_is_read_afterwards(alice, open_case, payments, edits, tasks):
    task = open_case(tasks=[new_task(payments, number) for number in range(tasks)]).tasks.get(position=0)
    program = Program(alice)
    assert program.post(f"tasks/{task.code}/claim", {}).status_code == 200
    said = program.post(f"tasks/{task.code}/decision", body(task, edits=edits, comment='"as agreed"'))
    assert said.json() == program.get(f"tasks/{task.code}").json()


def test_the_same_key_after_a_recall_is_answered_with_the_task_as_it_is(alice, task):
    program = Program(alice)
    program.decides(task, key="one")
    StoredAnswer.objects.all().delete()  # kept for a day; the decision remembers its key for good
    program.post(f"cases/{task.case.code}/recall", {})
    assert program.decides(task, key="one").json()["state"] == "open"


def test_what_is_known_is_not_asked_for_again(alice, task, django_assert_max_num_queries):
    program = Program(alice)
    program.get("tasks")  # notes that the token is used
    text, most = body(task), 23 if connection.vendor == "postgresql" else 21
    with django_assert_max_num_queries(most):
        assert program.post(f"tasks/{task.code}/decision", text).status_code == 200


def test_the_second_one_hears_who_was_first(alice, bob, task):
    Program(alice).decides(task, "rejected")
    answer = Program(bob).decides(task)
    told = answer.json()
    assert (answer.status_code, told["code"], told["by"], told["verdict"]) == (409, "decided", "alice", "rejected")
    assert told["at"].endswith("Z")


def test_a_decision_on_something_else_is_refused(alice, task):
    answer = Program(alice).decides(task, shownDigest="0" * 64)
    assert (answer.status_code, answer.json()["code"]) == (409, "changed")
    assert not Decision.objects.exists()


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"verdict": '"maybe"'}, "/verdict"), ({"verdict": "7"}, "/verdict"), ({"verdict": '"answered"'}, "/input"),
        ({"shownDigest": "null"}, "/shownDigest"), ({"comment": "[]"}, "/comment"), ({"edit": "{}"}, "/edit"),
        ({"edits": "[1]"}, "/edits"), ({"edits": '{"bogus": 1}'}, "/edits"), ({"edits": "NaN"}, ""),
    ],
)  # fmt: skip
def test_a_body_that_does_not_fit_is_422_with_pointers(alice, task, members, pointer):
    answer = Program(alice).post(f"tasks/{task.code}/decision", body(task, **members))
    assert answer.status_code == 422, answer.content
    assert answer.json()["errors"][0]["pointer"].startswith(pointer)
    assert not Decision.objects.exists()


@pytest.mark.parametrize(
    "text", [b'{"verdict": "appro', b"[]", b"\xff", b'{"verdict":"approved","verdict":"rejected"}', b""]
)
def test_what_is_no_object_is_422_and_decides_nothing(alice, task, text):
    assert Program(alice).post(f"tasks/{task.code}/decision", text).status_code == 422
    assert not Decision.objects.exists()


def test_a_missing_digest_is_never_guessed(alice, task):
    answer = Program(alice).post(f"tasks/{task.code}/decision", {"verdict": "approved"})
    assert answer.json()["errors"] == [{"pointer": "/shownDigest", "message": "This member is required."}]


def test_a_whole_answer_that_is_the_rejection_is_recorded_as_rejected(alice, open_case, payments):
    task = open_case(tasks=[new_task(payments)]).tasks.get()
    answer = Program(alice).decides(task, "answered", input={"approved": False})
    assert (answer.status_code, answer.json().get("decision", {}).get("verdict")) == (200, "rejected"), answer.content


def test_null_can_be_an_answer_where_the_schema_allows_it(alice, open_case, payments):
    kit = question_kit(schema='{"type":["string","null"]}')
    task = open_case(tasks=[new_task(payments, exhibit=asked(), kit=kit)]).tasks.get()
    answer = Program(alice).post(f"tasks/{task.code}/decision", body(task, verdict='"answered"', input="null"))
    assert answer.status_code == 200, answer.content
    assert Decision.objects.get().answer == "null"


def test_the_same_key_and_body_give_the_stored_answer(alice, task):
    first = Program(alice).decides(task, key="k-1")
    again = Program(alice).decides(task, key="k-1")
    assert (again.status_code, again.content) == (200, first.content)
    assert Decision.objects.count() == 1


def test_the_same_key_with_another_body_is_a_mismatch(alice, task):
    Program(alice).decides(task, key="k-1")
    answer = Program(alice).decides(task, "rejected", key="k-1")
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_mismatch")


def test_a_key_counts_per_person_and_a_refusal_is_not_kept(alice, bob, task):
    Program(alice).decides(task, key="k-1")
    assert Program(bob).decides(task, key="k-1").status_code == 409
    assert StoredAnswer.objects.filter(user=bob).count() == 0
    assert Program(alice).decides(task, key="k" * 201).status_code == 400


def test_get_never_decides(alice, task):
    answer = Program(alice).get(f"tasks/{task.code}/decision", verdict="approved")
    assert answer.status_code == 405
    assert not Decision.objects.exists()


def test_a_service_person_decides_by_token(task):
    robot = person("robot", Role.REVIEWER, "payments", service=True)
    assert Program(robot).decides(task).json()["decision"]["by"] == "robot"
    entry = task.entries.get(verb="task.decided")
    assert entry.actor_kind == "service"
    assert json.loads(entry.body)["actor"]["auth"] == ["token"]


def test_the_token_is_asked_for_and_a_disabled_person_has_none(alice, task, client):
    assert client.get("/api/v1/tasks")["WWW-Authenticate"] == "Bearer"
    program = Program(alice)
    assert program.get("tasks").status_code == 200
    type(alice).objects.filter(pk=alice.pk).update(is_active=False)
    assert (program.get("tasks").status_code, program.get("tasks").json()["code"]) == (401, "unauthorized")


def test_a_session_is_no_token(alice, client):
    client.force_login(alice)
    assert client.get("/api/v1/tasks").status_code == 401


def test_a_revoked_token_ends_at_once(alice):
    program = Program(alice)
    tokens.revoke_all(alice, now=timezone.now())
    assert program.get("tasks").status_code == 401


def test_the_use_of_a_token_is_noted_once_a_minute(alice, django_assert_num_queries):
    token = tokens.issue(alice, now=timezone.now())
    now = timezone.now()
    with django_assert_num_queries(2):
        assert tokens.owner(token, now=now) == alice
    with django_assert_num_queries(1):
        tokens.owner(token, now=now)


def test_guessing_tokens_is_slowed_down(alice, monkeypatch):
    at = timezone.now()
    monkeypatch.setattr(auth, "timezone", SimpleNamespace(now=lambda: at))  # else a slow machine guesses slowly
    guess = Program(alice, token="wrong")
    answers = [guess.get("tasks") for _ in range(70)]
    assert [answers[0].status_code, answers[-1].status_code] == [401, 429]
    assert int(answers[-1]["Retry-After"]) >= 1
    assert Program(alice).get("tasks").status_code == 200


def test_a_body_too_large_is_413(alice, task, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    answer = Program(alice).decides(task, comment="x" * 200)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.django_db(transaction=True)
def test_two_requests_with_one_key_at_a_time_decide_once(alice, open_case):
    task = open_case().tasks.get()
    token = tokens.issue(alice, now=timezone.now())

    def decides():
        try:
            return Program(alice, token=token).decides(task, key="once")
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        answers = [future.result() for future in [pool.submit(decides) for _ in range(4)]]
    assert {(answer.status_code, answer.content) for answer in answers} == {(200, answers[0].content)}
    assert Decision.objects.count() == StoredAnswer.objects.count() == 1

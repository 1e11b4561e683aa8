"""Who was refused at a door, and which, is on the trail."""

from __future__ import annotations

from django.test import Client

from approvals import jsontext
from approvals.models import AuditEntry
from tests.programs import Program


def signed_in(user, **more) -> Client:
    client = Client(**more)
    client.force_login(user)
    return client


def told() -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(verb="access.refused").order_by("seq"))


def test_a_person_who_is_refused_is_named_with_the_door(alice, task):
    assert signed_in(alice).get("/agents/new/").status_code == 403
    (entry,) = told()
    assert (entry.actor, entry.sentence) == (alice, "alice was refused at GET /agents/new/: it is not theirs to do.")


def test_a_program_that_is_refused_is_told_of_with_the_place(carol, task):
    assert Program(carol).post(f"tasks/{task.code}/claim").status_code == 403
    (entry,) = told()
    assert jsontext.loads(entry.data)["at"] == {"code": task.code}
    assert entry.case is None and not task.case.entries.filter(verb="access.refused").exists()


def test_the_same_door_again_is_told_once_and_another_by_itself(alice, payments):
    for address in ("/agents/new/", "/agents/new/", "/audit/findings/"):
        assert signed_in(alice).get(address).status_code == 403
    assert [entry.sentence.split()[4] for entry in told()] == ["GET", "GET"]


def test_a_refused_decision_tells_its_own_story(olga, task):
    assert Program(olga).decides(task, "approved").status_code == 403
    assert told() == [] and AuditEntry.objects.filter(verb="task.refused").count() == 1


def test_what_another_site_made_somebody_send_is_not_theirs(alice, task):
    assert signed_in(alice, enforce_csrf_checks=True).post("/audit/samples/").status_code == 403
    assert told() == []


def test_a_stranger_leaves_no_trace(client, db):
    assert client.get("/agents/new/").status_code == 302
    assert told() == []

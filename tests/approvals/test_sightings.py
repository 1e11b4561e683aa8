"""Who had what on screen, and what auditors opened, is on record."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import intake, jsontext
from approvals.models import AuditEntry
from approvals.trail import sightings
from tests.people import shown
from tests.programs import Program


@pytest.fixture
def open_page(client):
    def open_page(user, address: str, **headers: str) -> None:
        client.force_login(user)
        assert client.get(address, headers=headers).status_code == 200

    return open_page


def told(verb: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(verb=verb).order_by("seq"))


def test_a_reviewer_leaves_one_entry_for_each_version_they_see(alice, task, open_page):
    address = f"/cases/{task.case.code}/"
    open_page(alice, address)
    open_page(alice, address)
    intake.refreeze(task, shown(args='{"to": "x", "amount": 1}'), now=timezone.now())
    open_page(alice, address, **{"HX-Request": "true"})
    versions = [jsontext.loads(entry.data)["shown"][0] for entry in told("case.shown")]
    assert [(one["task"], int(one["version"])) for one in versions] == [(task.code, 1), (task.code, 2)]
    assert versions[0]["shownDigest"] == task.exhibits.get(version=1).digest


def test_an_auditor_leaves_one_entry_each_time_and_none_for_what_a_page_fetches_itself(carol, task, open_page):
    address = f"/cases/{task.case.code}/"
    for headers in ({}, {"HX-Request": "true"}, {}):
        open_page(carol, address, **headers)
    assert [entry.actor for entry in told("case.viewed")] == [carol, carol] and not told("case.shown")


def test_what_an_auditor_asks_is_kept_and_what_a_reviewer_asks_is_not(alice, carol, task, open_page):
    open_page(alice, "/audit/?q=money")
    open_page(carol, "/audit/?q=money&verdict=approved")
    (entry,) = told("audit.searched")
    assert jsontext.loads(entry.data)["asked"] == {"q": "money", "verdict": "approved"}


def test_another_page_of_the_same_question_is_the_same_question(carol, task, open_page):
    open_page(carol, "/audit/?before=99")
    open_page(carol, "/audit/", **{"HX-Request": "true"})
    assert told("audit.searched") == []


def test_what_an_auditors_program_reads_is_on_record_once_a_day(alice, carol, task):
    program, path = Program(carol), f"cases/{task.case.code}"
    for address in (f"tasks/{task.code}", path, f"{path}/trail"):
        assert program.get(address).status_code == 200
    assert [entry.actor for entry in told("case.viewed")] == [carol]

    tomorrow = timezone.now() + timedelta(days=1)
    assert sightings.read_by_program(task.case, by=carol, now=tomorrow) is not None
    assert sightings.read_by_program(task.case, by=alice, now=tomorrow) is None


def test_a_program_that_follows_the_trail_asks_one_question(carol, task):
    program = Program(carol)
    for since in ("2026-01-01", "2026-01-02", ""):
        assert program.get("audit", agent="payer", since=since).status_code == 200
    assert program.get("audit", agent="payer", q="rent").status_code == 200
    asked = [jsontext.loads(entry.data)["asked"] for entry in told("audit.searched")]
    assert asked == [{"agent": "payer", "since": "2026-01-01"}, {"agent": "payer", "q": "rent"}]


def test_the_answer_to_a_program_holds_its_own_look(carol, task):
    verbs = [entry["verb"] for entry in Program(carol).get("audit").json()["entries"]]
    assert verbs[0] == "audit.searched"
    assert jsontext.loads(bytes(told("audit.searched")[0].body).decode())["actor"]["auth"] == ["token"]


def test_of_another_queue_nothing_counts_as_seen(charlie, open_case, payments):
    case = open_case()
    assert sightings.opened(case, [], by=charlie, now=timezone.now()) is None and told("case.shown") == []


def test_a_page_listens_from_after_its_own_entry_only_when_nothing_came_between(carol, task):
    entry = sightings.opened(task.case, [], by=carol, now=timezone.now())
    assert sightings.cursor_after(entry.seq - 1, entry) == entry.seq
    assert sightings.cursor_after(entry.seq - 2, entry) == entry.seq - 2
    assert sightings.cursor_after(7, None) == 7

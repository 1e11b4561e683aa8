"""What an auditor prints of a bundle: one file that needs nothing, and tells each case from the entries beside it."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db.models import QuerySet
from django.utils import timezone, translation

from agentbridge.record import evidence
from approvals.models import AuditEntry, Case, User
from approvals.trail import bundles
from approvals.trail.bundles import summary
from tests.bridge_work import Script, paused_case, register, work
from tests.pages import Page
from tests.people import decide, only_task
from tests.scripted_agent import call, finishing, interrupt, pausing

pytestmark = pytest.mark.django_db(transaction=True)

ARGS = '{"amount": 12.50, "to": "</pre><script>alert(1)</script>", "api_key": "hunter2hunter2"}'
Printed = Callable[..., Page]


@pytest.fixture
def delivered(script: Script, alice: User) -> Case:
    """Shown, approved with another amount, sent, and run."""
    agent = script(pausing(interrupt(message="Pay \u202enow"), calls=call(args=ARGS)), finishing("paid 10"))
    case = paused_case(register(agent, receipts="Ed25519"), alice)
    decide(only_task(case), alice, edits=ARGS.replace("12.50", "10"), comment="the rest was paid")
    work()
    return case


@pytest.fixture
def printed(tmp_path: Path) -> Printed:
    def summary_of(entries: QuerySet[AuditEntry], **wanted: str) -> Page:
        path = tmp_path / "bundle.zip"
        bundles.write(path, bundles.begin(entries, wanted, extras=[evidence.extras], now=timezone.now()))
        return Page(zipfile.ZipFile(path).read("summary.html").decode())

    return summary_of


def test_a_case_is_told_from_the_proposal_to_what_ran(delivered, printed):
    text = printed(AuditEntry.objects.all()).text
    task = only_task(delivered).code
    steps = (f"Proposed {task}", "Seen No entry", f"Decided {task}", "Sealed Byte", "Sent Byte", f"Ran {task}")
    places = [text.index(words) for words in steps]
    assert places == sorted(places)
    assert "/amount 12.50 10" in text and "the rest was paid" in text and "paid 10" in text


def test_it_needs_nothing_beside_it_and_runs_nothing(delivered, printed):
    page = printed(AuditEntry.objects.all())
    assert {tag for tag, _given in page.tags} & {"script", "link", "img", "iframe", "object"} == set()
    assert all(given["href"].startswith("#") for tag, given in page.tags if tag == "a")
    assert "url(" not in page.source and "U+202E" in page.text


def test_secrets_are_hidden_as_on_pages(delivered, printed):
    assert "hunter2" not in printed(AuditEntry.objects.all()).source


def test_what_was_not_asked_for_is_said_to_be_missing(delivered, printed):
    page = printed(AuditEntry.objects.filter(verb="resume.sealed"), verb="resume.sealed")
    assert "verb resume.sealed" in page.text
    assert page.text.count("No entry in this bundle tells of it.") == len(summary.STAGES) - 1
    assert "12.50" not in page.text and "paid 10" not in page.text


def test_the_same_entries_make_the_same_page_in_whatever_language_it_is_asked_for(delivered, printed):
    entries = AuditEntry.objects.filter(case=delivered)
    english = printed(entries).source
    with translation.override("ko"):
        assert printed(entries).source == english


def test_cases_beyond_what_a_page_holds_are_counted_out_loud(delivered, printed, monkeypatch):
    monkeypatch.setattr(summary, "MOST_TOLD", 0)
    text = printed(AuditEntry.objects.all()).text
    assert "1 more case is not told one by one here" in text and delivered.code in text


def test_every_verb_has_its_step():
    assert [summary.stage_of(verb) for verb in ("run.interrupted", "run.finished", "hold.placed", "incident.opened")] \
        == ["Proposed", "Sent", summary.AFTERWARDS, "Ran"]  # fmt: skip

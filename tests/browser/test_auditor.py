"""The auditor's work in a browser that runs no script: find, sample, read, note, hand over; then have one erased."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_axe import LOOKS, faults
from tests.desk import Desk, Json
from tests.trails import desk_tells

pytestmark = pytest.mark.browser
SignIn = Callable[..., Page]
ROUND = (
    "case.opened", "task.opened", "task.decided", "case.settled", "case.taken", "resume.sealed", "delivery.leased",
    "case.sent", "delivery.armed", "run.started", "delivery.accepted", "task.result", "run.finished",
    "delivery.finished", "case.delivered", "task.concluded",
)  # fmt: skip


def asked(desk: Desk, start_story: Callable[..., str], story: str, seed: int) -> Json:
    thread = start_story(story, seed)
    return desk.wait_until(lambda: desk.open_tasks(thread), "the pause is stored")[0]


@pytest.fixture(scope="module")
def approvals_of_a_month() -> dict[str, Json]:
    """Filled by the first story that needs them: the code of a case → its task."""
    return {}


@pytest.fixture
def edited(
    running_desk: Desk, start_story: Callable[..., str], approvals_of_a_month: dict[str, Json]
) -> dict[str, Json]:
    """Seven edited approvals of one tool, among a plain one and one of another tool."""
    if not approvals_of_a_month:
        plain, other = (asked(running_desk, start_story, story, 70) for story in ("edit", "minimal"))
        running_desk.decide(plain, "approved")
        running_desk.decide(other, "approved", "bob")
        for seed in range(71, 78):
            task = asked(running_desk, start_story, "edit", seed)
            changed = {**json.loads(task["toolCall"]["argsText"]), "amount": seed}
            running_desk.decide(task, "approved", edits=changed)
            running_desk.case_ends(task["case"])
            approvals_of_a_month[task["case"]] = task
    return approvals_of_a_month


def test_find_sample_read_note(running_desk: Desk, sign_in: SignIn, edited: dict[str, Json]) -> None:
    page = sign_in("carol", java_script_enabled=False)
    page.goto(f"{running_desk.url}/audit/")
    page.click("summary:has-text('More to ask by')")
    page.fill("#audit-tool", "create_credit_note")
    page.select_option("#audit-verdict", "approved")
    page.select_option("#audit-edited", "yes")
    page.fill("#audit-since", str(datetime.now(UTC).date() - timedelta(days=30)))
    page.click("button:has-text('Search')")
    expect(page.locator("main")).to_contain_text("7 decisions match")
    expect(page.locator("svg.chart")).to_have_attribute("aria-label", re.compile("^7 decisions"))

    question = page.url
    drawn = [draw(page, question) for _again in range(2)]
    assert drawn[0] == drawn[1] and len(drawn[0]) == 5 and set(drawn[0]) <= edited.keys()
    sample = page.url
    for code in drawn[0]:
        page.goto(sample)
        page.click(f"main a:text-is('{code}')")
        expect(page.locator("main")).to_contain_text("Decided: approved with edits")
        expect(page.locator("main ins").first).to_have_text(re.compile(r"7\d"))
    page.fill("textarea[name=text]", "Nobody asked the customer.")
    page.click("button:has-text('Note it')")
    expect(page.locator("main")).to_contain_text("Nobody asked the customer.")
    page.goto(sample)
    expect(page.locator("main")).to_contain_text("5 of 5 read by you")
    desk_tells(running_desk, drawn[0][-1], *ROUND, "finding.noted")


def test_evidence_is_checked_without_the_project(
    running_desk: Desk, sign_in: SignIn, edited: dict[str, Json], tmp_path: Path
) -> None:
    page = sign_in("carol", java_script_enabled=False)
    page.goto(f"{running_desk.url}/audit/?verdict=approved&edited=yes&tool=create_credit_note")
    with page.expect_download() as handed_over:
        page.click("button:has-text('Export evidence')")
    bundle = tmp_path / "evidence.zip"
    handed_over.value.save_as(bundle)
    with zipfile.ZipFile(bundle) as opened:
        assert len(opened.read("entries.jsonl").splitlines()) == len(edited)
        (tmp_path / "verify.py").write_bytes(opened.read("verify.py"))
    key = running_desk.http.get(running_desk.url + "/.well-known/countersign").json()["log_keys"][0]
    alone = [sys.executable, "-I", "-S", "verify.py", bundle.name, "--key", key]
    checked = subprocess.run(alone, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("look", LOOKS)
def test_pages_of_auditors_have_no_fault(
    look: str, running_desk: Desk, sign_in: SignIn, edited: dict[str, Json]
) -> None:
    width, height, scheme = LOOKS[look]
    page = sign_in("carol", viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(f"{running_desk.url}/audit/")
    page.fill("#draw-seed", look)
    page.click("button:has-text('Draw from')")
    code = next(iter(edited))
    paths = [urlsplit(page.url).path, "/audit/?verdict=approved&edited=yes", "/audit/findings/", "/audit/erasures/",
             f"/cases/{code}/record/"]  # fmt: skip
    found = {}
    for path in paths:
        page.goto(running_desk.url + path)
        wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        found[path] = faults(page) + ["scrolls sideways"] * wide
    assert {path: said for path, said in found.items() if said} == {}


def draw(page: Page, question: str) -> list[str]:
    page.goto(question)
    page.fill("#draw-size", "5")
    page.fill("#draw-seed", "2026-Q4")
    page.click("button:has-text('Draw from')")
    return page.locator("main tbody td:nth-child(2)").all_inner_texts()


def test_a_record_is_printed_whole(
    running_desk: Desk, sign_in: SignIn, edited: dict[str, Json], tmp_path: Path
) -> None:
    page = sign_in("carol")
    page.goto(f"{running_desk.url}/cases/{next(iter(edited))}/record/")
    page.emulate_media(media="print")
    for words in ("Proposed", "The answer, byte for byte", "Sealed", "What really ran", "Every entry of"):
        expect(page.locator("main").get_by_text(words).first).to_be_visible()
    expect(page.locator("nav[aria-label=Main]")).to_be_hidden()
    assert page.pdf(path=tmp_path / "record.pdf").startswith(b"%PDF")
    page.set_viewport_size({"width": 360, "height": 740})  # a preview on a phone
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


def test_what_was_erased_is_in_no_file(
    running_desk: Desk, sign_in: SignIn, start_story: Callable[..., str]
) -> None:
    task = asked(running_desk, start_story, "edit", 90)  # a case that no other story reads
    code = task["case"]
    running_desk.decide(task, "approved")
    running_desk.case_ends(code)
    invoice = re.search(r"INV-\d+", task["toolCall"]["argsText"])[0].encode()  # type: ignore[index]
    if running_desk.settings["DATABASE_URL"].startswith("sqlite"):
        assert invoice in everything_in(running_desk.folder)  # PostgreSQL keeps its files elsewhere

    auditor = sign_in("carol", java_script_enabled=False)
    auditor.goto(f"{running_desk.url}/audit/erasures/")
    for name, text in (("case", code), ("basis", "GDPR Art. 17(1)(b)"), ("reason", "Consent withdrawn.")):
        auditor.fill(f"#ask-{name}", text)
    auditor.click("button:has-text('Ask for it')")
    admin = sign_in("adam", java_script_enabled=False)
    admin.goto(f"{running_desk.url}/audit/erasures/")
    admin.click(f"button:has-text('Erase the content of {code}')")
    expect(admin.locator("main")).to_contain_text("Done, and on record.")

    running_desk.manage("retention", "--scrub")
    running_desk.manage("export_audit", "--out", str(running_desk.folder / "bundle.zip"))
    assert invoice not in everything_in(running_desk.folder)
    auditor.goto(f"{running_desk.url}/cases/{code}/record/")
    expect(auditor.locator("main")).to_contain_text("was erased")
    desk_tells(running_desk, code, *ROUND, "erasure.asked", "entry.erased")


def everything_in(folder: Path) -> bytes:
    """Database, its log, our own logs and exports, unpacked."""
    found = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    for bundle in folder.glob("*.zip"):
        with zipfile.ZipFile(bundle) as opened:
            found += [opened.read(name) for name in opened.namelist()]
    return b"\n".join(found)

"""Every page passes axe: names, roles, order of headings, contrast; at both widths, light and dark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.desk import Desk

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
LOOKS = {"wide and light": (1280, 800, "light"), "narrow and dark": (360, 740, "dark")}


def faults(page: Page) -> list[str]:
    return [f"{fault['id']}: {fault['nodes'][0]['html']}" for fault in Axe().run(page).response["violations"]]


@pytest.mark.parametrize("look", LOOKS)
def test_pages_have_no_fault(
    look: str, running_desk: Desk, sign_in: Callable[..., Page], start_story: Callable[..., str]
) -> None:
    threads = [start_story(story, 15) for story in ("edit", "parallel", "form")]
    cases = [running_desk.wait_until(lambda t=t: running_desk.open_tasks(t), "a pause")[0]["case"] for t in threads]
    width, height, scheme = LOOKS[look]
    page = sign_in("alice", viewport={"width": width, "height": height}, color_scheme=scheme)
    paths = ["queue/", "queue/?q=nothing", "audit/", "deliveries/", "agents/", "agents/ledgerline/", "accounts/me/"]
    found = {}
    for path in [*paths, *(f"cases/{case}/" for case in cases)]:
        page.goto(f"{running_desk.url}/{path}")
        page.wait_for_load_state("networkidle")
        found[path] = faults(page)
    assert {path: said for path, said in found.items() if said} == {}


def test_pages_that_say_no_have_no_fault_and_lose_nothing(
    running_desk: Desk, sign_in: Callable[..., Page], start_story: Callable[..., str]
) -> None:
    thread = start_story("edit", 16)
    task = running_desk.wait_until(lambda: running_desk.open_tasks(thread), "a pause")[0]
    page = sign_in("alice", viewport={"width": 360, "height": 740}, color_scheme="dark")
    found = {}
    for path in ("audit/erasures/", "cases/C-NONE/", f"tasks/{task['code']}/decision/"):
        page.goto(f"{running_desk.url}/{path}")
        found[path] = faults(page)
    page.goto(f"{running_desk.url}/cases/{task['case']}/")
    page.wait_for_load_state("networkidle")
    page.fill("textarea[name=comment]", "half a sentence")
    page.context.clear_cookies(name="session")  # as after a working day
    page.click("button[data-key-act=claim]")
    expect(page.locator("[data-flag=signed-out]")).to_be_visible()
    found["signed out"] = faults(page)
    assert page.input_value("textarea[name=comment]") == "half a sentence"
    assert {path: said for path, said in found.items() if said} == {}

"""Every page passes axe: names, roles, order of headings, contrast; at both widths, light and dark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

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

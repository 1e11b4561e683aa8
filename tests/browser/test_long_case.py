"""A case of more tasks than one page shows whole: worked through by keyboard, on a phone, beside others."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from approvals.desk.longcase import MOST_WHOLE
from tests.browser.hosts import host
from tests.desk import Desk, Json
from tests.scripted_agent import call, interrupt

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
SignIn = Callable[..., Page]
COUNT = MOST_WHOLE + 5
# However slow the machine is: a pause in the typing, after which a draft is sent, never ends.
NO_PAUSE = "const later = setTimeout; window.setTimeout = (act, ms, ...more) => ms === 900 || later(act, ms, ...more)"


@pytest.fixture
def tasks(running_desk: Desk) -> list[Json]:
    """Of one run, in the order in which they are asked."""
    thread, numbers = f"thread-{secrets.token_hex(6)}", range(1, COUNT + 1)
    calls = b"".join(call("refund", json.dumps({"order": f"A-{n}", "amount": n}), f"tc-{n}") for n in numbers)
    host(running_desk, "refunder", "Returns").push(thread, calls, *(interrupt(f"int-{n}", f"tc-{n}") for n in numbers))
    found = running_desk.open_tasks(thread)
    return sorted(found, key=lambda task: int(task["interruptId"].removeprefix("int-")))


def at(page: Page, desk: Desk, task: Json) -> None:
    page.goto(f"{desk.url}/cases/{task['case']}/?task={task['code']}")
    page.wait_for_selector("live-feed[data-state=live]", state="attached")


def arrived(page: Page, task: Json) -> None:
    """On another page, whose keys are read."""
    expect(page.locator(f"#head-{task['code']}")).to_be_focused()
    page.wait_for_selector("live-feed[data-state=live]", state="attached")


def test_the_keyboard_leads_from_task_to_task_and_on_after_a_decision(
    running_desk: Desk, sign_in: SignIn, tasks: list[Json]
) -> None:
    page = sign_in("alice")
    at(page, running_desk, tasks[3])
    page.keyboard.press("j")
    arrived(page, tasks[4])
    page.keyboard.press("k")
    arrived(page, tasks[3])
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    expect(page.locator(f"#head-{tasks[4]['code']}")).to_be_focused()
    expect(page.locator("#case-progress")).to_contain_text(f"1 of {COUNT} decided")
    expect(page.locator("#messages")).to_contain_text(f"{tasks[3]['code']}: approved")
    assert running_desk.get(f"tasks/{tasks[3]['code']}", "alice")["decision"]["verdict"] == "approved"


def test_what_was_typed_just_before_the_next_task_is_kept(
    running_desk: Desk, sign_in: SignIn, tasks: list[Json]
) -> None:
    page = sign_in("alice")
    page.add_init_script(NO_PAUSE)
    at(page, running_desk, tasks[0])
    page.locator("textarea[name=comment]").press_sequentially("half a sentence")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator(f"#head-{tasks[1]['code']}")).to_be_visible()

    def is_there_again() -> bool:
        page.goto(f"{running_desk.url}/cases/{tasks[0]['case']}/?task={tasks[0]['code']}")
        return page.locator("textarea[name=comment]").input_value() == "half a sentence"

    running_desk.wait_until(is_there_again, "the draft is kept")
    expect(page.locator("#messages")).not_to_contain_text("kept")


def test_what_others_decide_shows_in_the_list_and_nothing_typed_is_lost(
    running_desk: Desk, sign_in: SignIn, tasks: list[Json]
) -> None:
    page = sign_in("alice")
    at(page, running_desk, tasks[0])
    page.locator("textarea[name=comment]").press_sequentially("half a sen")
    running_desk.decide(tasks[7], "rejected", "bob")
    expect(page.locator(f"#case-list #task-{tasks[7]['code']}")).to_contain_text("rejected")
    page.keyboard.type("tence")
    expect(page.locator("textarea[name=comment]")).to_have_value("half a sentence")
    expect(page).to_have_url(re.compile(rf"\?task={tasks[0]['code']}"))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_its_page_has_no_fault_and_scrolls_no_way_but_down(
    width: int, scheme: str, running_desk: Desk, sign_in: SignIn, tasks: list[Json]
) -> None:
    page = sign_in("alice", viewport={"width": width, "height": 760}, color_scheme=scheme)
    at(page, running_desk, tasks[0])
    page.wait_for_load_state("networkidle")
    assert [fault["id"] for fault in Axe().run(page).response["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


def test_it_is_worked_through_without_a_script(running_desk: Desk, sign_in: SignIn, tasks: list[Json]) -> None:
    page = sign_in("alice", java_script_enabled=False)
    page.goto(f"{running_desk.url}/cases/{tasks[0]['case']}/")
    page.click("text=Next >> nth=0")
    expect(page).to_have_url(re.compile(rf"\?task={tasks[1]['code']}"))
    page.click("button[value=rejected]")
    expect(page.locator(f"#head-{tasks[2]['code']}")).to_be_visible()
    page.click(f"#case-list a[href*='{tasks[1]['code']}']")
    expect(page.locator(f"#task-{tasks[1]['code']}")).to_contain_text("rejected")

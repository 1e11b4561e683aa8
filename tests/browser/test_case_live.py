"""What others do shows on an open case page, and nothing that is being typed is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.desk import Desk

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
SignIn = Callable[..., Page]


def open_live(page: Page, running_desk: Desk, case: str) -> None:
    page.goto(f"{running_desk.url}/cases/{case}/")
    page.wait_for_selector("live-feed[data-state=live]", state="attached")


def test_typed_text_survives_what_others_do(
    running_desk: Desk, sign_in: SignIn, start_story: Callable[..., str]
) -> None:
    thread = start_story("parallel", 11)
    tasks = running_desk.wait_until(lambda: running_desk.open_tasks(thread), "the pause is stored")
    page = sign_in("alice")
    open_live(page, running_desk, tasks[0]["case"])
    comment = page.locator(f"#task-{tasks[0]['code']} textarea[name=comment]")
    comment.press_sequentially("half a sen")
    running_desk.post(f"tasks/{tasks[1]['code']}/claim", "bob", None)
    expect(page.locator(f"#task-{tasks[1]['code']}")).to_contain_text("bob is on it")
    running_desk.decide(tasks[1], "rejected", "bob", comment="not now")
    expect(page.locator(f"#task-{tasks[1]['code']}")).to_contain_text("not now")
    expect(page.locator("#case-progress")).to_contain_text("1 of 3 decided")
    page.keyboard.type("tence")
    assert comment.input_value() == "half a sentence"


def test_deciding_one_task_keeps_what_is_typed_on_the_others(
    running_desk: Desk, sign_in: SignIn, start_story: Callable[..., str]
) -> None:
    thread = start_story("parallel", 12)
    tasks = running_desk.wait_until(lambda: running_desk.open_tasks(thread), "the pause is stored")
    page = sign_in("alice")
    open_live(page, running_desk, tasks[0]["case"])
    page.fill(f"#task-{tasks[2]['code']} textarea[name=comment]", "kept")
    page.click(f"#task-{tasks[0]['code']} button[value=approved]")
    expect(page.locator(f"#head-{tasks[1]['code']}")).to_be_focused()
    expect(page.locator(f"#task-{tasks[2]['code']} textarea[name=comment]")).to_have_value("kept")


def test_enter_in_a_field_decides_nothing(running_desk: Desk, sign_in: SignIn, start_story: Callable[..., str]) -> None:
    thread = start_story("edit", 13)
    task = running_desk.wait_until(lambda: running_desk.open_tasks(thread), "the pause is stored")[0]
    page = sign_in("alice")
    open_live(page, running_desk, task["case"])
    page.fill('[data-pointer="/amount"]', "7")
    page.press('[data-pointer="/amount"]', "Enter")
    expect(page.locator('[data-pointer="/amount"]')).to_have_value("7")
    page.wait_for_load_state("networkidle")
    assert running_desk.get(f"tasks/{task['code']}")["decision"] is None


def test_an_edit_is_marked_while_it_is_typed(
    running_desk: Desk, sign_in: SignIn, start_story: Callable[..., str]
) -> None:
    thread = start_story("edit", 14)
    task = running_desk.wait_until(lambda: running_desk.open_tasks(thread), "the pause is stored")[0]
    page = sign_in("alice")
    open_live(page, running_desk, task["case"])
    amount = page.locator('[data-pointer="/amount"]')
    proposed = amount.input_value()
    expect(page.get_by_text("changed by you")).to_be_hidden()
    amount.fill("7")
    expect(page.locator(".field.changed")).to_have_count(1)
    expect(page.get_by_text("changed by you")).to_be_visible()
    amount.fill(proposed)
    expect(page.get_by_text("changed by you")).to_be_hidden()

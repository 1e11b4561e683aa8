"""The main job in a browser: a task appears, one number is edited, the agent runs exactly that, the auditor sees it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.desk import Desk

pytestmark = pytest.mark.browser
SignIn = Callable[..., Page]


def decide(page: Page, verdict: str) -> None:
    page.click(f'main button[name=verdict][value="{verdict}"]')


def test_a_new_task_appears_and_runs_as_edited(
    running_desk: Desk, sign_in: SignIn, start_story: Callable[..., str]
) -> None:
    page = sign_in("alice")
    expect(page.locator("body")).not_to_contain_text("create_credit_note")
    page.wait_for_selector("live-feed[data-state=live]", state="attached")
    thread = start_story("edit", 3)
    running_desk.wait_until(lambda: running_desk.open_tasks(thread), "the pause is stored")
    expect(page.locator("#queue-list")).to_contain_text("create_credit_note")

    page.click("#queue-list a:has-text('create_credit_note')")
    page.fill('[data-pointer="/amount"]', "12.50")
    decide(page, "approved")
    task = running_desk.get(f"tasks?thread={thread}")["tasks"][0]
    case = running_desk.case_ends(task["case"])
    assert case["tasks"][0]["decision"]["changedPaths"] == ["/amount"]
    assert '"amount": 12.5' in case["tasks"][0]["evidence"]["results"][0]["text"]

    auditor = sign_in("carol")
    auditor.goto(f"{running_desk.url}/cases/{task['case']}/")
    main = auditor.locator("main")
    expect(main).to_contain_text("396.39")
    expect(main).to_contain_text("12.50")
    expect(main).to_contain_text('"status": "done"')
    assert auditor.locator("main button[name=verdict]").count() == 0


def test_it_works_without_javascript(running_desk: Desk, sign_in: SignIn, start_story: Callable[..., str]) -> None:
    thread = start_story("minimal", 5)
    running_desk.wait_until(lambda: running_desk.open_tasks(thread), "the pause is stored")
    page = sign_in("bob", java_script_enabled=False)
    page.click("#queue-list a:has-text('send_email')")
    decide(page, "rejected")
    task = running_desk.get(f"tasks?thread={thread}")["tasks"][0]
    assert task["decision"]["verdict"] == "rejected"
    case = running_desk.case_ends(task["case"])
    assert case["state"] == "delivered", case["delivery"]


def test_three_parallel_questions_on_one_page(
    running_desk: Desk, sign_in: SignIn, start_story: Callable[..., str]
) -> None:
    thread = start_story("parallel", 2)
    tasks = running_desk.wait_until(lambda: running_desk.open_tasks(thread), "the pause is stored")
    page = sign_in("alice")
    page.goto(f"{running_desk.url}/cases/{tasks[0]['case']}/")
    for task, verdict in zip(tasks, ("approved", "approved", "cancelled"), strict=True):
        page.click(f'#task-{task["code"]} button[name=verdict][value="{verdict}"]')
        expect(page.locator(f"#task-{task['code']}")).to_contain_text(re.compile(verdict, re.I))
    case = running_desk.case_ends(tasks[0]["case"])
    assert [entry["status"] for entry in case["delivery"]["entries"]] == ["resolved", "resolved", "cancelled"]


def test_a_form_keeps_what_was_typed_when_something_is_missing(
    running_desk: Desk, sign_in: SignIn, start_story: Callable[..., str]
) -> None:
    thread = start_story("form", 4)
    task = running_desk.wait_until(lambda: running_desk.open_tasks(thread), "the pause is stored")[0]
    page = sign_in("alice")
    page.goto(f"{running_desk.url}/cases/{task['case']}/")
    page.fill('[data-pointer="/year"]', "2026")
    decide(page, "answered")
    assert page.input_value('[data-pointer="/year"]') == "2026"
    assert running_desk.get(f"tasks/{task['code']}")["decision"] is None

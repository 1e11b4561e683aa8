"""A form in a browser: with a script the halves follow while typing, without one by its buttons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser import hosts
from tests.browser.pushing import Host
from tests.desk import Desk

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
SignIn = Callable[..., Page]
ARGS = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "amount": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "pay": {
            "oneOf": [
                {"title": kind, "type": "object", "properties": {"kind": {"const": kind}, name: {"type": "string"}}}
                for kind, name in (("card", "number"), ("bank", "iban"))
            ]
        },
    },
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "editedArgs": ARGS},
    "required": ["approved"],
}
TEXT = (
    '{"to":"a", "amount":9007199254740993.10,"tags":["x","y"],"pay":{"kind":"bank","iban":"KR1"},'
    '"api_key":"sk-live-0123456789abcdefgh"}'
)


def open_form(desk: Desk, page: Page) -> dict[str, Any]:
    task = Host(desk).pauses({"reason": "tool_call", "responseSchema": SCHEMA}, args=TEXT)
    page.goto(f"{desk.url}/cases/{task['case']}/")
    return task


def field(page: Page, pointer: str) -> Any:
    return page.locator(f"[data-pointer='{pointer}']")


def edits(desk: Desk, task: dict[str, Any]) -> Any:
    decision = desk.wait_until(lambda: desk.get(f"tasks/{task['code']}")["decision"], "the decision is stored")
    return decision["edits"]


def test_fields_raw_json_and_the_changes_follow_each_other_while_typing(running_desk: Desk, sign_in: SignIn) -> None:
    page = sign_in("alice")
    open_form(running_desk, page)
    field(page, "/to").fill("abc")
    expect(page.locator("#changes-v")).to_contain_text("1 change")
    page.get_by_text("Edit as raw JSON").click()
    raw = page.locator("[data-raw-json]")
    assert '"to": "abc"' in raw.input_value()
    raw.fill(raw.input_value().replace('"abc"', '"raw"'))
    raw.blur()
    expect(field(page, "/to")).to_have_value("raw")
    assert "sk-live" not in page.content()


def test_another_branch_lays_itself_out_and_items_move_by_keyboard(running_desk: Desk, sign_in: SignIn) -> None:
    page = sign_in("alice")
    task = open_form(running_desk, page)
    page.get_by_label("Kind of pay").select_option(label="card")
    expect(field(page, "/pay/number")).to_be_focused()
    field(page, "/pay/number").fill("4000")
    page.get_by_role("button", name="Move 1 up").press("Enter")
    expect(field(page, "/tags/1")).to_be_focused()
    expect(page.locator("#changes-v")).to_contain_text("moved")
    page.click("button[value=approved]")
    sent = edits(running_desk, task)
    assert sent["pay"] == {"kind": "card", "number": "4000"} and sent["tags"] == ["y", "x"]
    assert sent["api_key"] == "sk-live-0123456789abcdefgh"


@pytest.mark.parametrize("width", [1280, 360])
def test_without_a_script_the_buttons_do_the_same(running_desk: Desk, sign_in: SignIn, width: int) -> None:
    page = sign_in("alice", java_script_enabled=False, viewport={"width": width, "height": 800})
    task = open_form(running_desk, page)
    field(page, "/to").fill("b")
    page.locator("summary", has_text="Edit as raw JSON").click()
    page.get_by_role("button", name="Take what the fields say").click()
    expect(page.locator("#changes-v")).to_contain_text("1 change")
    page.get_by_role("button", name="Add an item").click()
    field(page, "/tags/2").fill("z")
    page.locator("button[value=approved]").click()
    assert edits(running_desk, task)["tags"] == ["x", "y", "z"]


def test_hidden_values_are_shown_with_a_reason_and_for_this_person_only(running_desk: Desk, sign_in: SignIn) -> None:
    page = sign_in("alice")
    task = open_form(running_desk, page)
    page.get_by_label("What you need to see them for").fill("which account is it")
    page.get_by_role("button", name="Show them").click()
    expect(page.locator("#hidden-values")).to_contain_text("shown to you until")
    expect(field(page, "/api_key")).to_have_value("sk-live-0123456789abcdefgh")
    verbs = [entry["verb"] for entry in running_desk.get(f"cases/{task['case']}/trail")["entries"]]
    assert "values.shown" in verbs
    other = sign_in("bob")
    other.goto(page.url)
    assert "sk-live" not in other.content()


BOXES = {"type": "array", "uniqueItems": True, "items": {"enum": ["refund", "voucher", 7]}}


@pytest.mark.parametrize(("script", "width"), [(True, 1280), (False, 360)])
def test_a_few_values_are_ticked_with_and_without_a_script(
    running_desk: Desk, sign_in: SignIn, script: bool, width: int
) -> None:
    args = {"type": "object", "properties": {"gets": BOXES}}
    schema = {**SCHEMA, "properties": {"approved": {"type": "boolean"}, "editedArgs": args}}
    page = sign_in("alice", java_script_enabled=script, viewport={"width": width, "height": 800})
    asked = {"reason": "tool_call", "responseSchema": schema}
    task = Host(running_desk).pauses(asked, args='{"gets":["voucher"]}')
    page.goto(f"{running_desk.url}/cases/{task['case']}/")
    expect(page.get_by_label("voucher")).to_be_checked()
    page.get_by_label("7", exact=True).check()
    if script:
        expect(page.locator("#changes-v")).to_contain_text("1 change")
    page.locator("button[value=approved]").click()
    assert edits(running_desk, task)["gets"] == ["voucher", 7]


@pytest.fixture
def thorough(running_desk: Desk) -> hosts.Host:
    """Asks in a queue where long texts are opened before a yes."""
    running_desk.manage("add_queue", "thorough", "--whole-text-first", "yes")
    running_desk.manage("add_user", "alice", "--role", "reviewer", "--queue", "payments", "--queue", "thorough")
    return hosts.host(running_desk, "thorough", "Thorough", "thorough")


@pytest.mark.parametrize("script", [True, False])
def test_a_long_text_is_opened_before_a_yes(
    running_desk: Desk, sign_in: SignIn, thorough: hosts.Host, script: bool
) -> None:
    task = thorough.question("\n".join(f"line {number}" for number in range(40)))
    page = sign_in("alice", java_script_enabled=script)
    page.goto(f"{running_desk.url}/cases/{task['case']}/")
    expect(page.locator("button[value=answered]")).to_have_count(0)
    if script:
        page.locator("[data-pointer='']").fill("typed before")
    page.get_by_role("link", name="Show all of it").click()
    expect(page.get_by_text("line 39").first).to_be_visible()
    if not script:
        page.get_by_role("link", name="Back to the case").click()
        page.locator("[data-pointer='']").fill("typed before")
    page.locator("button[value=answered]").click()
    decided = running_desk.wait_until(lambda: running_desk.get(f"tasks/{task['code']}")["decision"], "it is stored")
    assert decided["input"] == "typed before"

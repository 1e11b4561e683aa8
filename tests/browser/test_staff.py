"""Administrators in a browser: somebody comes, works and goes; a queue is made stricter and looser; axe looks on."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_axe import LOOKS, faults
from tests.desk import Desk

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
SignIn = Callable[..., Page]
CHOSEN = "a long way to Tipperary"


def test_somebody_comes_chooses_a_password_and_is_out_once_disabled(
    running_desk: Desk, sign_in: SignIn, browser: Browser
) -> None:
    adam = sign_in("adam", viewport={"width": 1280, "height": 800})
    adam.goto(f"{running_desk.url}/people/new/")
    adam.get_by_label("Name to sign in").fill("nora")
    adam.get_by_label("payments").check()
    adam.get_by_role("button", name="Add", exact=True).click()
    link = adam.locator("[data-way-in=link]").inner_text()

    nora = browser.new_context().new_page()
    nora.goto(link)
    nora.get_by_label("New password").fill(CHOSEN)
    nora.get_by_label("The same again").fill(CHOSEN)
    nora.get_by_role("button", name="Set it").click()
    nora.get_by_label("Name").fill("nora")
    nora.get_by_label("Password").fill(CHOSEN)
    nora.get_by_role("button", name="Sign in").click()
    expect(nora).to_have_url(re.compile("/queue/"))

    adam.locator("#switch-reason").fill("moved on")
    adam.get_by_role("button", name="Disable nora").click()
    expect(adam.get_by_role("heading", name="Enable")).to_be_visible()
    nora.reload()
    expect(nora).to_have_url(re.compile("/accounts/login/"))
    nora.context.close()


def test_what_loosens_a_queue_is_agreed_to_before_it_is_saved(running_desk: Desk, sign_in: SignIn) -> None:
    running_desk.manage("add_queue", "vault", "--risk", "high")
    page = sign_in("adam", viewport={"width": 360, "height": 740})
    page.goto(f"{running_desk.url}/queues/")
    page.get_by_role("link", name="vault").click()
    page.get_by_label("medium risk").check()
    page.get_by_label("Why it is changed").fill("no money in it any more")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#loosens")).to_contain_text("From high risk to less")
    page.locator("#loosens input").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_label("medium risk")).to_be_checked()


@pytest.mark.parametrize("look", LOOKS)
def test_pages_of_administrators_have_no_fault(look: str, running_desk: Desk, sign_in: SignIn) -> None:
    width, height, scheme = LOOKS[look]
    page = sign_in("adam", viewport={"width": width, "height": height}, color_scheme=scheme)
    found = {}
    for path, link in (("people/", "alice"), ("people/new/", ""), ("queues/", "payments")):
        page.goto(f"{running_desk.url}/{path}")
        found[path] = faults(page)
        if link:
            page.get_by_role("link", name=link, exact=True).click()
            page.wait_for_load_state("networkidle")
            found[link] = faults(page)
    assert {path: said for path, said in found.items() if said} == {}

"""No page of ours breaks its own content policy, whatever a person does on it (R-48)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pushing import Host
from tests.desk import Desk

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
SignIn = Callable[..., Page]
LISTEN = """document.addEventListener("securitypolicyviolation", (event) => refused(
  [location.pathname, event.effectiveDirective, event.blockedURI, event.sourceFile, event.lineNumber].join(" ")))"""
UNFOLD = "() => document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"


@pytest.fixture
def watch() -> Iterator[Callable[[Page], Page]]:
    """Notes what the browser refuses on a page; at the end it was nothing."""
    refused: list[str] = []

    def watch(page: Page) -> Page:
        page.expose_function("refused", lambda said: refused.append(said))
        page.add_init_script(LISTEN)
        return page

    yield watch
    assert refused == []


def walked(desk: Desk, page: Page, *paths: str) -> None:
    """Each page with all of it unfolded, and what comes on demand brought."""
    for path in paths:
        page.goto(f"{desk.url}/{path}")
        page.evaluate(UNFOLD)
        page.wait_for_load_state("networkidle")


def test_a_reviewer_s_whole_loop_is_within_the_policy(
    running_desk: Desk, sign_in: SignIn, watch: Callable[[Page], Page]
) -> None:
    tags = {"type": "array", "uniqueItems": True, "items": {"enum": ["a", "b"]}}
    args = {"type": "object", "properties": {"to": {"type": "string"}, "tags": tags}}
    schema = {"type": "object", "properties": {"approved": {"type": "boolean"}, "editedArgs": args}}
    asked = {"reason": "tool_call", "responseSchema": schema, "message": "Please."}
    task = Host(running_desk).pauses(asked, args='{"to":"paid\u202etxt","tags":["b"]}')
    page = watch(sign_in("alice", viewport={"width": 1280, "height": 800}))
    walked(running_desk, page, "queue/?group=tool", "queue/?q=nothing", f"cases/{task['case']}/")
    page.keyboard.press("?")
    page.get_by_role("button", name="Close").click()
    comment = page.locator("textarea[name=comment]")
    comment.evaluate("(box) => { box.style.height = '120px'; }")  # as by its corner
    page.locator("textarea[name=note]").fill("@bob, is this yours?")
    page.get_by_role("button", name="Leave the note").click()
    expect(page.locator(".note")).to_have_count(1)
    expect(comment).to_have_css("height", "120px")
    page.locator("[data-pointer='/to']").fill('"you"')
    expect(page.locator("#changes-v")).to_contain_text("1 change")
    page.click("button[value=approved]")
    expect(page.get_by_role("heading", name="Approved with 1 change")).to_be_visible()
    walked(running_desk, page, f"tasks/{task['code']}/precedents/", f"cases/{task['case']}/", "accounts/me/", "audit/")


@pytest.mark.parametrize(
    ("person", "paths"),
    [
        ("carol", ("audit/", "audit/?q=payments", "audit/findings/", "audit/erasures/", "deliveries/")),
        ("olga", ("deliveries/", "agents/", "agents/ledgerline/", "queue/")),
        ("adam", ("agents/new/", "agents/ledgerline/edit/", "accounts/me/", "people/", "people/new/", "queues/")),
    ],
)
def test_everybody_s_pages_are_within_the_policy(
    running_desk: Desk, sign_in: SignIn, watch: Callable[[Page], Page], person: str, paths: tuple[str, ...]
) -> None:
    walked(running_desk, watch(sign_in(person)), *paths)

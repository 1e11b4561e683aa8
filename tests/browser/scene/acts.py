"""What somebody does on a page before its picture is taken."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page


def typing(page: Page) -> None:
    page.fill('[data-pointer="/amount"]', "12.50")
    page.fill("textarea[name=comment]", "The invoice says 12.50.")
    page.wait_for_timeout(1_500)  # the draft is kept, the difference told


def mistake(page: Page) -> None:
    page.fill('[data-pointer="/amount"]', "12,5")
    approve(page)


def approve(page: Page) -> None:
    page.click("button[value=approved]")
    page.wait_for_load_state("networkidle")


def answer(page: Page) -> None:
    page.click("button[value=answered]")
    page.wait_for_load_state("networkidle")


def sign(page: Page) -> None:
    page.check("[name=read_all]")
    page.fill("[name=typed]", "48200.5")
    approve(page)


def note(page: Page) -> None:
    if page.locator(".note").count() == 0:
        page.locator(".notes summary").click()
        page.fill("textarea[name=note]", "@bob, is this the invoice you asked about?")
        page.click("text=Leave the note")
    page.locator(".notes").scroll_into_view_if_needed()


def unfold(page: Page) -> None:
    """All that is folded, loaded as well."""
    page.evaluate("document.querySelectorAll('main details').forEach(fold => { fold.open = true; })")
    page.wait_for_load_state("networkidle")


def opening(summary: str) -> Callable[[Page], None]:
    return lambda page: page.locator(summary).first.click()


def sign_in_wrongly(page: Page) -> None:
    page.fill("input[name=username]", "alice")
    page.fill("input[name=password]", "not this one")
    page.click("main button")
    page.wait_for_load_state()


def ask_for_an_agent(page: Page) -> None:
    page.fill("[name=name]", "Warehouse")
    page.fill("[name=slug]", "new")
    page.fill("[name=url]", "http://10.0.0.1/agui")
    page.fill("[name=headers]", "Authorization Bearer x")
    page.click("#agent-form button:not([name])")
    page.wait_for_load_state()


def lose_the_session(page: Page) -> None:
    """As after a working day; the window is of no use to others then."""
    typing(page)
    page.context.clear_cookies(name="session")
    page.click("button[data-key-act=claim]")
    page.wait_for_selector("[data-flag=signed-out]")


def press_without_a_cookie(page: Page) -> None:
    """As after signing in anew in another window: the form's token is not this session's any more."""
    page.evaluate("document.querySelectorAll('[name=csrfmiddlewaretoken]').forEach(one => { one.value = 'x'; })")
    page.locator("#person summary").click()
    page.locator("#person form[action*=setlang] button:not([disabled])").click()
    page.wait_for_load_state()

"""People and the rules of queues, as administrators see them."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.scene.view import Act, Stage, View


def views(stage: Stage) -> dict[str, View]:
    stage.desk.manage("add_user", "rosa", "--role", "reviewer", "--queue", "mail")
    stage.desk.manage("add_user", "nightly", "--role", "reviewer", "--queue", "payments", "--service")
    stage.desk.manage("add_user", "mona", "--role", "reviewer")  # nobody signs in as her: her password stops working
    stage.desk.manage("disable_user", "rosa", "--reason", "left the team")
    return {
        "people": View("adam", "people/"), "people-plain": View("adam", "people/", kind="plain"),
        "person": View("adam", "people/", opening("alice")), "person-new": View("adam", "people/new/"),
        "person-disabled": View("adam", "people/", opening("rosa")),
        "person-program": View("adam", "people/", opening("nightly")),
        "person-problem": View("adam", "people/new/", add_alice_again),
        "person-link": View("adam", "people/", give_link), "password-dead": View("", "accounts/password/MQ/no-link/"),
        "queue-rules": View("adam", "queues/"), "queue-rules-one": View("adam", "queues/", opening("vault")),
        "queue-rules-loosened": View("adam", "queues/", loosen),
        "person-korean": View("adam", "people/", opening("alice"), "korean"),
        "queue-rules-korean": View("adam", "queues/", opening("vault"), "korean"),
    }  # fmt: skip


def opening(name: str) -> Act:
    def act(page: Page) -> None:
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_load_state()

    return act


def add_alice_again(page: Page) -> None:
    page.get_by_label("Name to sign in").fill("alice")
    page.get_by_role("button", name="Add", exact=True).click()


def give_link(page: Page) -> None:
    opening("mona")(page)
    page.get_by_role("button", name="Link for a new password").click()


def loosen(page: Page) -> None:
    opening("vault")(page)
    page.get_by_label("low risk").check()
    page.get_by_label("Why it is changed").fill("no money in it any more")
    page.get_by_role("button", name="Save").click()

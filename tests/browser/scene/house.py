"""The door and the walls: signing in, and every page that says no."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, Route

from tests.browser.scene import acts
from tests.browser.scene.view import Stage, View

BROKEN = "from django.template.loader import get_template; print(get_template('{name}').render())"


def views(stage: Stage) -> dict[str, View]:
    task = stage.payer.asks("pay_lost", {"amount": 5})
    return {
        "login": View("", "accounts/login/"), "login-korean": View("", "accounts/login/", kind="korean"),
        "login-problem": View("", "accounts/login/", acts.sign_in_wrongly),
        "login-too-many": View("", "accounts/login/", too_many),
        "missing": View("carol", "cases/C-NONE/"), "missing-korean": View("carol", "cases/C-NONE/", kind="korean"),
        "forbidden": View("alice", "audit/erasures/"), "only-deeds": View("alice", f"tasks/{task['code']}/decision/"),
        "other-session": View("carol", "queue/", acts.press_without_a_cookie),
        "not-understood": View("", "accounts/login/", saying(stage, "400.html")),
        "broken": View("", "accounts/login/", saying(stage, "500.html")),
    }  # fmt: skip


def too_many(page: Page) -> None:
    for _attempt in range(16):  # more than come back meanwhile
        acts.sign_in_wrongly(page)


def saying(stage: Stage, name: str) -> Callable[[Page], None]:
    """A page that is made without the rest of the desk, shown as if its turn had come."""
    told = stage.desk.manage("shell", "--no-imports", "-c", BROKEN.format(name=name))

    def act(page: Page) -> None:
        def answer(route: Route) -> None:
            route.fulfill(body=told, content_type="text/html")

        page.route("**/out-of-order/", answer)
        page.goto(f"{stage.desk.url}/out-of-order/")

    return act

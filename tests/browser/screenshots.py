"""`make screenshots`: every page in every state at 1280 and 360 pixels, light and dark, into `screenshots/`.

`ARGS="queue case-*-360-dark"` takes only some of them. What the README shows goes to `docs/screenshots/` as well. The
desk, the worker and the agents are real.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from tests import desk
from tests.browser.scene import KINDS, View, set_up, views
from tests.desk import ROOT, Desk

OUT, SHOWN = ROOT / "screenshots", ROOT / "docs" / "screenshots"
IN_README = {
    "case-edit-1280-light": "case-1280-light",
    "queue-1280-light": "queue-1280-light",
    "case-decided-1280-light": "case-file-1280-light",
}
# A phone is touched: targets are larger there.
SIZES: dict[str, dict[str, Any]] = {
    "1280": {"viewport": {"width": 1280, "height": 800}},
    "360": {"viewport": {"width": 360, "height": 740}, "has_touch": True},
}
THEMES = ("light", "dark")
SHORT = ("login", "queue-keys")  # fit a window, or stand over it
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--font-render-hinting=none"]


@contextmanager
def agent(folder: Path) -> Iterator[str]:
    """The demo agent that keeps its state; its address."""
    port = desk.free_port()
    words = [sys.executable, "-m", "demo.server", "keeping", "--port", str(port)]
    with (folder / "agent.log").open("wb") as log:
        process = subprocess.Popen(words, cwd=ROOT, stdout=log, stderr=log)
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()
            process.wait(timeout=10)


def sign_in(page: Page, running: Desk, name: str) -> None:
    page.goto(running.url + "/accounts/login/")
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", running.passwords[name])
    page.click("main button[type=submit], main button.btn-main")
    page.wait_for_load_state()


def shoot(browser: Browser, running: Desk, wanted: dict[str, View], only: list[str]) -> None:
    """Each picture of `wanted`, in as few windows as there are people, kinds of browser, sizes and themes."""
    windows = dict.fromkeys((view.who, view.kind) for view in wanted.values())
    for (size, window), theme, (who, kind) in product(SIZES.items(), THEMES, windows):
        look = f"{size}-{theme}"
        here = {f"{name}-{look}": view for name, view in wanted.items() if (view.who, view.kind) == (who, kind)}
        if not (chosen := {name: view for name, view in here.items() if is_chosen(name, only)}):
            continue
        context = browser.new_context(color_scheme=theme, **window, **KINDS[kind])
        page = context.new_page()
        if who:
            sign_in(page, running, who)
        if kind == "paper":
            page.emulate_media(media="print")
        for name, view in chosen.items():
            take(page, running.url, view, name)
        context.close()


def is_chosen(picture: str, only: list[str]) -> bool:
    name = picture.rsplit("-", 2)[0]
    return not only or any(fnmatch(picture, word) or fnmatch(name, word) for word in only)


def take(page: Page, base: str, view: View, name: str) -> None:
    """One that cannot be taken is told, and the others are taken all the same."""
    try:
        picture(page, base, view, name)
    except PlaywrightError as problem:
        sys.stdout.write(f"{name}: {str(problem).splitlines()[0]}\n")


def picture(page: Page, base: str, view: View, name: str) -> None:
    page.goto(view.path if "://" in view.path else f"{base}/{view.path.lstrip('/')}")
    page.wait_for_timeout(400)  # fragments that the page loads by itself
    if view.act:
        view.act(page)
        page.wait_for_timeout(200)
    page.screenshot(path=OUT / f"{name}.png")
    if (wide := page.evaluate(SIDEWAYS)) > 0:
        sys.stdout.write(f"{name}: scrolls sideways by {wide} px\n")
    size = page.viewport_size
    if size and not name.startswith(SHORT):
        # A window as high as the page: what sticks to an edge is where it belongs.
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": size["width"], "height": min(height, 6000)})
        page.screenshot(path=OUT / f"{name}-whole.png")
        page.set_viewport_size(size)
    if name in IN_README:
        shutil.copy(OUT / f"{name}.png", SHOWN / f"{IN_README[name]}.png")


def main(only: list[str]) -> None:
    for folder in (OUT, SHOWN):
        folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as temporary,
        agent(Path(temporary)) as address,
        desk.running(Path(temporary)) as running,
        sync_playwright() as playwright,
        set_up(running, address) as stage,
    ):
        wanted = views(stage)
        found = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        shoot(browser, running, wanted, only)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])

"""`make screenshots`: every page at 1280 and 360 pixels, light and dark, into `screenshots/`.

What the README shows goes to `docs/screenshots/` as well. The desk, the worker and the demo agent are real.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests import desk
from tests.browser.scene import Scene, View
from tests.desk import ROOT, Desk

OUT, SHOWN = ROOT / "screenshots", ROOT / "docs" / "screenshots"
IN_README = {
    "case-edit-1280-light": "case-1280-light",
    "queue-1280-light": "queue-1280-light",
    "case-decided-1280-light": "case-file-1280-light",
}
SIZES = {"1280": (1280, 800), "360": (360, 740)}
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


def shoot(browser: Browser, running: Desk, views: dict[str, View], only: list[str]) -> None:
    wanted = {name: view for name, view in views.items() if not only or name in only}
    for size, (width, height) in SIZES.items():
        for theme in ("light", "dark"):
            for who in dict.fromkeys(view.who for view in wanted.values()):
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)  # type: ignore[arg-type]
                page = context.new_page()
                if who:
                    sign_in(page, running, who)
                for name, view in wanted.items():
                    if view.who == who:
                        picture(page, running.url, view, f"{name}-{size}-{theme}")
                context.close()


def picture(page: Page, base: str, view: View, name: str) -> None:
    page.goto(view.path if view.path.startswith("http") else f"{base}/{view.path.lstrip('/')}")
    page.wait_for_timeout(400)  # fragments that the page loads by itself
    if view.act:
        view.act(page)
        page.wait_for_timeout(200)
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wide > 0:
        sys.stdout.write(f"{name}: scrolls sideways by {wide} px\n")
    page.screenshot(path=OUT / f"{name}.png")
    size = page.viewport_size
    if size and name.startswith(("case", "audit")):
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
    ):
        running.manage("add_agent", "ledgerline", address, "--name", "Ledgerline", "--queue", "payments")
        scene = Scene(running).views()
        found = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        shoot(browser, running, scene, only)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])

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
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from approvals import jsontext
from tests import desk
from tests.desk import ROOT, Desk

OUT, SHOWN = ROOT / "screenshots", ROOT / "docs" / "screenshots"
IN_README = {
    "case-edit-1280-light": "case-1280-light",
    "queue-1280-light": "queue-1280-light",
    "case-decided-1280-light": "case-file-1280-light",
}
SIZES = {"1280": (1280, 800), "360": (360, 740)}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--font-render-hinting=none"]
Json = dict[str, Any]


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


class Scene:
    """Cases in every state that a page shows."""

    def __init__(self, running: Desk) -> None:
        self.desk = running

    def start(self, story: str, seed: int) -> list[Json]:
        wish = {"id": "u1", "role": "user", "content": f"Please: {story}."}
        body = {"messages": [wish], "forwardedProps": {"story": story, "seed": seed}}
        thread = self.desk.post("agents/ledgerline/runs", "alice", body)["threadId"]
        return self.desk.wait_until(lambda: self.desk.open_tasks(thread), f"{story} pauses")

    def pages(self) -> dict[str, tuple[str, str]]:
        """Name of the picture → who looks, and at what."""
        edited, rejected, chained = (self.start(story, 3)[0] for story in ("edit", "minimal", "chain"))
        changed = jsontext.replace(edited["toolCall"]["argsText"], {"/amount": "12.50", "/notify": "false"})
        self.decide_raw({**edited, "edits": changed})
        self.desk.decide(rejected, "rejected", "bob", comment="The parcel arrived this morning.")
        self.desk.decide(chained, "approved", "bob")
        for task in (edited, rejected, chained):
            self.desk.case_ends(task["case"])
        one, several, form = (self.start(story, 7) for story in ("edit", "parallel", "form"))
        self.start("confirmation", 2)
        self.start("minimal", 9)
        self.desk.decide(several[0], "approved", "bob")
        self.desk.post(f"tasks/{one[0]['code']}/claim", "alice", None)
        case = {name: f"cases/{tasks[0]['case']}/" for name, tasks in
                {"edit": one, "parallel": several, "form": form, "decided": [edited], "rejected": [rejected],
                 "chained": [chained]}.items()}  # fmt: skip
        run = self.desk.get("runs?agent=ledgerline", "carol")["runs"][0]["url"]
        return {
            "login": ("", "accounts/login/"), "queue": ("alice", "queue/"),
            "queue-empty": ("alice", "queue/?q=nothing"),
            "case-edit": ("alice", case["edit"]), "case-parallel": ("alice", case["parallel"]),
            "case-form": ("alice", case["form"]), "case-decided": ("carol", case["decided"]),
            "case-rejected": ("carol", case["rejected"]), "case-chained": ("carol", case["chained"]),
            "case-operator": ("olga", case["edit"]), "audit": ("carol", "audit/"),
            "deliveries": ("carol", "deliveries/"), "agents": ("olga", "agents/"),
            "agent": ("olga", "agents/ledgerline/"), "run": ("carol", run), "missing": ("carol", "cases/C-NONE/"),
        }  # fmt: skip

    def decide_raw(self, task: Json) -> None:
        """With the numbers as they are written."""
        body = f'{{"verdict":"approved","edits":{task["edits"]},"shownDigest":"{task["shownDigest"]}",' \
               '"comment":"The invoice says 12.50; nobody needs a notice."}'  # fmt: skip
        headers = {"authorization": f"Bearer {self.desk.tokens['alice']}", "content-type": "application/json"}
        path = f"{self.desk.url}/api/v1/tasks/{task['code']}/decision"
        self.desk.http.post(path, content=body, headers=headers).raise_for_status()


def sign_in(page: Page, running: Desk, name: str) -> None:
    page.goto(running.url + "/accounts/login/")
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", running.passwords[name])
    page.click("main button[type=submit], main button.btn-main")
    page.wait_for_load_state()


def shoot(browser: Browser, running: Desk, scene: dict[str, tuple[str, str]], only: list[str]) -> None:
    wanted = {name: place for name, place in scene.items() if not only or name in only}
    for size, (width, height) in SIZES.items():
        for theme in ("light", "dark"):
            for who in dict.fromkeys(who for who, _path in wanted.values()):
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)  # type: ignore[arg-type]
                page = context.new_page()
                if who:
                    sign_in(page, running, who)
                for name, (person, path) in wanted.items():
                    if person == who:
                        picture(page, running.url, path, f"{name}-{size}-{theme}")
                context.close()


def picture(page: Page, base: str, path: str, name: str) -> None:
    page.goto(path if path.startswith("http") else f"{base}/{path.lstrip('/')}")
    page.wait_for_timeout(400)  # fragments that the page loads by itself
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
        scene = Scene(running).pages()
        found = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        shoot(browser, running, scene, only)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])

"""A real Chromium against the real processes, with the demo agents behind them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests import desk
from tests.desk import ROOT, Desk
from tests.trails import desk_is_good
from tests.waiting import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip

PATIENT = PATIENCE * 1000  # milliseconds: a busy machine is slow, and nothing here is about speed
expect.set_options(timeout=PATIENT)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Closed with its file: Playwright leaves a running loop in this thread, where Django then refuses its database."""
    if not CHROMIUM:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail("no chromium on this machine")
        pytest.skip("no chromium on this machine")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture(scope="module")
def demo_agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The demo agent that keeps its state; its address."""
    port = desk.free_port()
    words = [sys.executable, "-m", "demo.server", "keeping", "--port", str(port)]
    with (tmp_path_factory.mktemp("agent") / "agent.log").open("wb") as log:
        process = subprocess.Popen(words, cwd=ROOT, stdout=log, stderr=log)
        yield f"http://127.0.0.1:{port}/"
        process.terminate()
        process.wait(PATIENCE)


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory, demo_agent: str) -> Iterator[Desk]:
    with desk.running(tmp_path_factory.mktemp("desk")) as running:
        running.manage("add_agent", "ledgerline", demo_agent, "--name", "Ledgerline", "--queue", "payments")
        yield running
        desk_is_good(running)  # whatever the stories did, the record of it is whole


@pytest.fixture
def start_story(running_desk: Desk) -> Callable[..., str]:
    """Start one of the demo stories; gives back its thread."""

    def start(story: str, seed: int = 1) -> str:
        body: dict[str, Any] = {
            "messages": [{"id": "u1", "role": "user", "content": f"Please: {story}."}],
            "forwardedProps": {"story": story, "seed": seed},
        }
        return str(running_desk.post("agents/ledgerline/runs", "alice", body)["threadId"])

    return start


def is_fault(kind: str, text: str) -> bool:
    """A browser reports every 4xx as an error of its own; here 409 and 422 are answers with a page."""
    return kind == "error" and "status of 4" not in text


@pytest.fixture
def sign_in(running_desk: Desk, browser: Browser) -> Iterator[Callable[..., Page]]:
    """A page of a signed-in person; every script error or refused resource fails the test at its end."""
    pages: list[tuple[Page, list[str]]] = []

    def sign_in(name: str, **options: Any) -> Page:
        page = browser.new_context(**options).new_page()
        page.set_default_timeout(PATIENT)
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if is_fault(said.type, said.text) else None)
        pages.append((page, faults))
        page.goto(running_desk.url + "/accounts/login/")
        page.fill("input[name=username]", name)
        page.fill("input[name=password]", running_desk.passwords[name])
        page.click("form[action*=login] button[type=submit], main button[type=submit]")
        page.wait_for_url("**/queue/**") if name in ("alice", "bob") else page.wait_for_load_state()
        return page

    yield sign_in
    for page, faults in pages:
        page.context.close()
        assert faults == []

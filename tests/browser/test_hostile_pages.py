"""R-48: what an agent sends runs nothing and fetches nothing, on any page, with every field full of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Request

from tests.browser.payloads import PAYLOADS
from tests.browser.pushing import Host
from tests.desk import Desk

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
AT_ONCE = 120


def schema_of(texts: list[str]) -> dict[str, Any]:
    """Every word of a schema that a form draws, hostile."""
    fields = {
        text: {
            "title": text,
            "description": text,
            "type": "string",
            "format": text,
            "examples": [text],
            "default": text,
        }
        for text in texts
    }
    choice = {"type": "string", "oneOf": [{"const": text, "title": text} for text in texts]}
    args = {"type": "object", "properties": {**fields, "choice": choice, "one": {"enum": texts}}}
    return {
        "type": "object",
        "properties": {"approved": {"type": "boolean"}, "editedArgs": args},
        "required": ["approved"],
    }


@pytest.fixture
def watched(running_desk: Desk, sign_in: Callable[..., Page]) -> Page:
    """A page that notes every script of a stranger and every request that leaves the desk."""
    page = sign_in("alice")
    page.add_init_script("window.owned = () => { window.wasOwned = true; };")
    strangers: list[str] = []
    here = urlsplit(running_desk.url).netloc

    def note(request: Request) -> None:
        if urlsplit(request.url).netloc != here and not request.url.startswith("data:"):
            strangers.append(request.url)

    page.on("request", note)
    page.on("dialog", lambda dialog: strangers.append(dialog.message))
    page.strangers = strangers  # type: ignore[attr-defined]
    return page


@pytest.mark.parametrize("start", range(0, len(PAYLOADS), AT_ONCE))
def test_nothing_that_an_agent_sends_runs_or_fetches(running_desk: Desk, watched: Page, start: int) -> None:
    texts = PAYLOADS[start : start + AT_ONCE]
    words = "\n".join(texts)
    task = Host(running_desk).pauses(
        {"reason": "tool_call", "message": words, "responseSchema": schema_of(texts), "metadata": {"words": texts}},
        args=json.dumps({text: text for text in texts}), tool=texts[0], state={text: [text] for text in texts},
        messages=[{"id": "m1", "role": "user", "content": words}],
        tools=[{"name": texts[0], "description": words, "parameters": {"type": "object"}}],
    )  # fmt: skip
    for path in (f"cases/{task['case']}/", "queue/", "audit/", f"cases/{task['case']}/record/", "agents/probe/"):
        watched.goto(f"{running_desk.url}/{path}")
        watched.wait_for_load_state("networkidle")
        watched.evaluate("() => document.querySelectorAll('main details').forEach((fold) => { fold.open = true; })")
        assert watched.evaluate("() => window.wasOwned") is None, path
        assert watched.locator("main :is(script, iframe, object, embed, math, marquee, video)").count() == 0
        assert watched.locator("main [onerror], main [onload], main [srcdoc], main [hx-on\\:load]").count() == 0
    assert watched.strangers == []  # type: ignore[attr-defined]

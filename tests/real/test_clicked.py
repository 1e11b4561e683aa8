"""A chat in front, LangGraph behind, a reviewer at the desk between them: the pause passes the relay and is clicked."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import browser, sign_in
from tests.desk import Desk
from tests.node.programs import RUN, WAIT, Program, begin, told
from tests.real.conftest import RealAgent

__all__ = ["browser", "sign_in"]
pytestmark = [pytest.mark.real, pytest.mark.browser, pytest.mark.node, pytest.mark.node_client]
SignIn = Callable[..., Page]


@dataclass
class Chat:
    """Somebody who chats with the agent through the desk, and waits."""

    desk: Desk
    thread: str
    program: Program

    def pause(self) -> dict[str, Any]:
        task: dict[str, Any] = self.desk.wait_until(self.asked, "the pause is kept")[0]
        return task

    def asked(self) -> list[dict[str, Any]]:
        assert self.program.poll() is None, told(self.program)
        return self.desk.open_tasks(self.thread)


@pytest.fixture(scope="module")
def caller_token(running_desk: Desk, real_agents: dict[str, RealAgent]) -> str:
    url = real_agents["langgraph"].url("/approval")
    words = ("add_agent", "refunder", url, "--queue", "payments", "--new-token")
    return str(json.loads(running_desk.manage(*words))["callerToken"])


@pytest.fixture
def chat(running_desk: Desk, caller_token: str) -> Iterator[Chat]:
    thread, run = str(uuid.uuid4()), str(uuid.uuid4())
    code = (RUN + WAIT).replace("thread-1", thread).replace("run-1", run)
    with begin(code, desk=f"{running_desk.url}/agui/refunder", token=caller_token) as program:
        yield Chat(running_desk, thread, program)
        program.kill()


def test_the_chat_hears_what_ran_as_the_reviewer_edited_it(
    running_desk: Desk, real_agents: dict[str, RealAgent], sign_in: SignIn, chat: Chat
) -> None:
    task, before = chat.pause(), len(real_agents["langgraph"].ledger())
    page = sign_in("alice")
    page.goto(f"{running_desk.url}/cases/{task['case']}/")
    page.fill('[data-pointer="/amount"]', "99.25")
    page.click("main button[name=verdict][value=approved]")
    asked, heard = told(chat.program)
    assert task["message"] in asked and "refunded 99.25 to ann@example.com" in heard
    assert [ran["arguments"]["amount"] for ran in real_agents["langgraph"].ledger()[before:]] == [99.25]
    assert running_desk.case_ends(task["case"])["tasks"][0]["decision"]["changedPaths"] == ["/amount"]


def test_the_chat_hears_a_no_and_nothing_ran(
    running_desk: Desk, real_agents: dict[str, RealAgent], sign_in: SignIn, chat: Chat
) -> None:
    task, before = chat.pause(), len(real_agents["langgraph"].ledger())
    page = sign_in("bob")
    page.click(f"#queue-list a[href*='{task['case']}']")
    page.click("main button[name=verdict][value=rejected]")
    assert "refund to ann@example.com not made" in told(chat.program)[-1]
    assert len(real_agents["langgraph"].ledger()) == before

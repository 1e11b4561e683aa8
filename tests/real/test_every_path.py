"""Every path of the real servers that `test_rounds` does not tell in detail, played to its end with a yes."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from tests.desk import Desk
from tests.real.conftest import RealAgent

pytestmark = pytest.mark.real
Json = dict[str, Any]
ENDS = {"finished", "interrupted_again"}

# path → (dialect, what a question without a verdict is answered with, how often which tool body must have run)
LANGGRAPH: dict[str, tuple[str, Any, dict[str, int]]] = {
    "/parallel": ("auto", None, {"refund": 3}),
    "/parallel-fixed": ("plain", None, {"refund": 3}),
    "/twice": ("auto", None, {"after_second_interrupt": 1}),
    "/hitl": ("auto", None, {"send_email": 1}),
    "/hitl-multi": ("auto", None, {"send_email": 2}),
    "/legacy/approval": ("auto", {"approved": True}, {"refund": 1}),
    "/legacy/plain": ("auto", "yes", {"refund_plain": 1}),
    "/legacy/parallel": ("auto", {"approved": True}, {"refund": 3}),
    "/legacy/form": ("auto", {"quarter": "Q2", "year": 2026, "revenue": 1.5}, {"file_quarter": 1}),
    "/legacy/chain": ("auto", {"approved": True}, {"stop_service": 1, "delete_data": 1}),
    "/legacy/hitl": ("auto", None, {"send_email": 1}),
}
STRANDS: dict[str, tuple[str, Any, dict[str, int]]] = {
    "/parallel": ("auto", None, {"refund": 3}),
    "/mixed": ("auto", {"slot": "Mon 10:00"}, {"refund": 1, "pick_slot": 1}),
    "/hook": ("auto", {"approved": True}, {"refund": 1}),
}
PATHS = [("langgraph", path, *row) for path, row in LANGGRAPH.items()]
PATHS += [("strands", path, *row) for path, row in STRANDS.items()]


def begin(desk: Desk, agent: RealAgent, path: str, dialect: str = "auto") -> str:
    slug = f"{agent.name}-every{path.replace('/', '-')}"
    desk.manage("add_agent", slug, agent.url(path), "--queue", "payments", "--dialect", dialect)
    thread = str(uuid.uuid4())
    started = json.loads(desk.manage("start_run", slug, "--thread", thread, "--message", "please"))
    return str(started["threadId"])


def say_yes(desk: Desk, thread: str, answer: Any) -> str:
    """Answer the open case of the thread; how its delivery ended."""
    tasks = desk.wait_until(lambda: desk.open_tasks(thread), f"{thread} pauses")
    for task in tasks:
        if "approved" in task["verdicts"]:
            desk.decide(task, "approved")
        else:
            desk.decide(task, "answered", input=answer)
    return str(desk.case_ends(tasks[0]["case"])["delivery"]["state"])


@pytest.mark.parametrize(("server", "path", "dialect", "answer", "ran"), PATHS)
def test_a_yes_everywhere_runs_each_tool_as_often_as_asked(
    running_desk: Desk, real_agents: dict[str, RealAgent], server: str, path: str, dialect: str, answer: Any,
    ran: dict[str, int],
) -> None:  # fmt: skip
    agent = real_agents[server]
    before = len(agent.ledger())
    thread = begin(running_desk, agent, path, dialect)
    while (state := say_yes(running_desk, thread, answer)) == "interrupted_again":
        pass
    tools = [row["tool"] for row in agent.ledger()[before:]]
    assert state == "finished"
    assert {tool: tools.count(tool) for tool in ran} == ran


@pytest.mark.parametrize("path", ["/onenode", "/onenode-async"])
def test_one_node_that_mixes_its_questions_up_never_looks_clean(
    running_desk: Desk, real_agents: dict[str, RealAgent], path: str
) -> None:
    """LangGraph's tutorial set-up runs bodies again and answers for the wrong call: the desk must come out of it."""
    thread = begin(running_desk, real_agents["langgraph"], path)
    states = [say_yes(running_desk, thread, {"approved": True}) for _ in range(3)]
    assert states == ["interrupted_again", "interrupted_again", "finished"]
    assert len(real_agents["langgraph"].ledger()) >= 3


def test_a_question_that_arrives_expired_is_never_answered(
    running_desk: Desk, real_agents: dict[str, RealAgent]
) -> None:
    thread = begin(running_desk, real_agents["langgraph"], "/expired")
    tasks = running_desk.wait_until(lambda: running_desk.get(f"tasks?thread={thread}")["tasks"], "it pauses")
    assert tasks[0]["state"] == "expired"
    body = {"verdict": "answered", "input": {"quarter": "Q1"}, "shownDigest": tasks[0]["shownDigest"]}
    refused = running_desk.call("POST", f"tasks/{tasks[0]['code']}/decision", "alice", body)
    assert (refused.status_code, refused.json()["code"]) == (409, "expired")

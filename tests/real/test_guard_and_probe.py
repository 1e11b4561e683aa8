"""The real LangGraph adapter, bare and behind the guard: what the probe says, and the trap of `delivery.md` 0.1."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agentbridge.guard.conftest import asked, events
from tests.agentbridge.guard.programs import GuardProcess
from tests.desk import Desk
from tests.real.conftest import RealAgent

pytestmark = pytest.mark.real
INPUTS = {"one": "--input", "chain": "--chain-input", "several": "--parallel-input", "soon": "--expiring-input"}


@pytest.fixture
def langgraph(real_agents: dict[str, RealAgent]) -> RealAgent:
    return real_agents["langgraph"]


@pytest.fixture
def guarded(langgraph: RealAgent, tmp_path: Path) -> Iterator[Any]:
    """`guarded(path)`: the address of a guard before this path of the server."""
    started: list[GuardProcess] = []

    def start(path: str) -> str:
        started.append(GuardProcess(langgraph.url(path), tmp_path / f"state{len(started)}"))
        started[-1].start()
        return f"http://127.0.0.1:{started[-1].port}{path}"

    yield start
    for guard in started:
        guard.kill()


def probe(desk: Desk, slug: str, url: str, agent: RealAgent, folder: Path) -> dict[str, Any]:
    desk.manage("add_agent", slug, url, "--queue", "payments")
    words = []
    for name, option in INPUTS.items():
        (folder / name).write_text(json.dumps({"messages": [{"id": "m", "role": "user", "content": name}]}))
        words += [option, str(folder / name)]
    told = desk.manage("probe_agent", slug, *words, "--ledger", agent.url("/_ledger"), "--json", check=False)
    return json.loads(told)


def test_behind_the_guard_all_eight_checks_pass(
    running_desk: Desk, langgraph: RealAgent, guarded: Any, tmp_path: Path
) -> None:
    found = probe(running_desk, "probed-guarded", guarded("/probe"), langgraph, tmp_path)
    assert [check["result"] for check in found["checks"]] == ["passed"] * 8, found
    assert found["class"] == "guarded"


def test_without_it_the_probe_says_which_fail(running_desk: Desk, langgraph: RealAgent, tmp_path: Path) -> None:
    found = probe(running_desk, "probed-bare", langgraph.url("/probe"), langgraph, tmp_path)
    failed = {check["check"] for check in found["checks"] if check["result"] == "failed"}
    assert failed == {"P2", "P3", "P4", "P5", "P7", "P8"} and found["class"] == "unknown"


def chained(url: str, agent: RealAgent) -> list[str]:
    """The trap: say yes to the first question, and, as after a lost answer, say it again. What ran."""
    before, thread = len(agent.ledger()), str(uuid.uuid4())

    def post(resume: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
        said = [{"id": "m", "role": "user", "content": "go"}]
        body = asked(str(uuid.uuid4()), resume, thread, messages=said)
        return events(httpx.post(url, json=body, trust_env=False))

    (first,) = post()[-1]["outcome"]["interrupts"]
    yes = [{"interruptId": first["id"], "status": "resolved", "payload": {"approved": True}}]
    post(yes), post(yes)
    return [row["tool"] for row in agent.ledger()[before:]]


def test_the_trap_is_there_and_the_guard_closes_it(langgraph: RealAgent, guarded: Any) -> None:
    assert chained(langgraph.url("/chain"), langgraph) == ["stop_service", "delete_data"]
    assert chained(guarded("/chain"), langgraph) == ["stop_service"]


def test_three_questions_at_once_pass_the_guard_as_the_desk_sends_them(
    running_desk: Desk, langgraph: RealAgent, guarded: Any
) -> None:
    running_desk.manage("add_agent", "lg-guarded", guarded("/parallel"), "--queue", "payments", "--replay", "guarded")
    before = len(langgraph.ledger())
    thread = json.loads(running_desk.manage("start_run", "lg-guarded", "--message", "please"))["threadId"]
    for task in running_desk.wait_until(lambda: running_desk.open_tasks(thread), "it pauses"):
        running_desk.decide(task, "approved")
    assert running_desk.case_ends(task["case"])["delivery"]["state"] == "finished"
    assert [row["tool"] for row in langgraph.ledger()[before:]] == ["refund"] * 3

"""Each document is followed word for word, against a running desk and the real frameworks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.desk import Desk, free_port
from tests.owners.documents import ROOT, Document, guard, program
from tests.scripted_agent import ScriptedAgent, finishing, pausing
from tests.waiting import PATIENCE

PythonOf = Callable[[str], Path]
MANAGE, GUARD = "manage.py ", "python -m agentbridge.guard "


def ask_and_approve(desk: Desk, words: list[str]) -> dict[str, Any]:
    """Start a run as the document says, and say yes to what it asks; how its case ended."""
    thread = json.loads(desk.manage(*words))["threadId"]
    (task,) = desk.wait_until(lambda: desk.open_tasks(thread), "it pauses")
    desk.decide(task, "approved")
    return desk.case_ends(task["case"])


def scripted_model() -> str:
    """A model for Strands that always wants one refund: the one of the real agents."""
    source = (ROOT / "tests" / "real" / "agents" / "strands_agent.py").read_text()
    (model,) = re.findall(r"class Scripted\(Model\):.*?(?=\n@tool)", source, re.DOTALL)
    made = 'model = Scripted([("refund", {"to": "ann@example.com", "amount": 120.5})])'
    return f"import json\nimport uuid\n\nfrom strands.models.model import Model\n\n\n{model}\n\n{made}\n"


@pytest.mark.real
def test_langgraph(running_desk: Desk, python_of: PythonOf, tmp_path: Path) -> None:
    own, door = free_port(), free_port()
    places = {"8123": str(own), "9000": str(door), "refunds.state": str(tmp_path / "state")}
    page = Document("langgraph.md", places | {"one.json": str(tmp_path / "1"), "chain.json": str(tmp_path / "1")})
    (tmp_path / "refunds.py").write_text(page.code())
    add, start, probe = page.commands(MANAGE)
    with ExitStack() as running:
        words = [str(python_of("langgraph")), str(tmp_path / "refunds.py")]
        running.enter_context(program(words, answers=f"http://127.0.0.1:{own}/ledger", log=tmp_path / "log"))
        running.enter_context(guard(page.commands(GUARD)[0], port=door, log=tmp_path / "guard"))
        running_desk.manage(*add)
        assert ask_and_approve(running_desk, start)["delivery"]["state"] == "finished"
        assert len(httpx.get(f"http://127.0.0.1:{own}/ledger", trust_env=False).json()) == 1
        (tmp_path / "1").write_text(re.findall(r"`(\{\"messages\".*?\})`", page.text)[0])
        found = running_desk.manage(*probe, check=False)
    results = dict(re.findall(r"^(P\d)  (passed|failed|not made) ", found, re.MULTILINE))
    not_made = {"P2": "not made", "P4": "not made", "P6": "not made"}  # this graph asks once, and one at a time
    assert results == {f"P{n}": "passed" for n in range(1, 9)} | not_made


@pytest.mark.real
def test_strands(running_desk: Desk, python_of: PythonOf, tmp_path: Path) -> None:
    own, door = free_port(), free_port()
    page = Document("strands.md", {"8123": str(own), "9000": str(door), "refunds.state": str(tmp_path / "state")})
    page.text = page.text.replace("add_agent refunds", "add_agent strands").replace("run refunds", "run strands")
    (tmp_path / "refunds.py").write_text(page.code())
    (tmp_path / "model.py").write_text(scripted_model())
    add, start, add_guarded = page.commands(MANAGE)
    ledger = f"http://127.0.0.1:{own}/ledger"
    with program([str(python_of("strands")), str(tmp_path / "refunds.py")], answers=ledger, log=tmp_path / "log"):
        running_desk.manage(*add)
        assert ask_and_approve(running_desk, start)["delivery"]["state"] == "finished"
        with guard(page.commands(GUARD)[0], port=door, log=tmp_path / "guard"):
            running_desk.manage(*add_guarded)
            assert ask_and_approve(running_desk, start)["delivery"]["state"] == "finished"
        assert len(httpx.get(ledger, trust_env=False).json()) == 2


def test_guard(running_desk: Desk, tmp_path: Path) -> None:
    """Plain, and with a desk that signs what it decides."""
    with ScriptedAgent([pausing(), finishing(), pausing(), finishing()]) as agent:
        door = free_port()
        places = {"8123": str(agent.port), "9000": str(door), "/var/lib/guard/refunds": str(tmp_path / "state")}
        page = Document("guard.md", places | {"https://desk.example": running_desk.url})
        page.text = page.text.replace("agent refunds", "agent guarded").replace("audience refunds", "audience guarded")
        plain, taken, _open, signed = page.commands(GUARD)
        (add,) = page.commands(MANAGE)
        start = ["start_run", "guarded", "--message", "pay"]
        with guard(plain, port=door, log=tmp_path / "plain"):
            running_desk.manage(*add)
            assert ask_and_approve(running_desk, start)["delivery"]["state"] == "finished"
        with guard(signed, port=door, log=tmp_path / "signed"):
            running_desk.manage(*add, "--receipts", "Ed25519")
            assert ask_and_approve(running_desk, start)["delivery"]["state"] == "finished"
        words = [sys.executable, "-m", "agentbridge.guard", *taken]
        settled = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert "Nothing is in doubt" in settled.stderr and len(agent.resumes) == 2


def test_cron(running_desk: Desk, tmp_path: Path) -> None:
    with ScriptedAgent([pausing(), finishing()]) as agent:
        running_desk.manage("add_agent", "payer", agent.url, "--queue", "payments")
        page = Document("cron.md", {})
        add_user, add_token = page.commands(MANAGE)
        running_desk.manage(*add_user)
        token = json.loads(running_desk.manage(*add_token))["token"]
        (tmp_path / "nightly.py").write_text(page.code())
        given = {"COUNTERSIGN_URL": running_desk.url, "COUNTERSIGN_TOKEN": token, "PATH": os.environ["PATH"]}
        night = subprocess.Popen(
            [sys.executable, str(tmp_path / "nightly.py")], env={**given, "WAIT_SECONDS": "240"}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        (task,) = running_desk.wait_until(lambda: running_desk.get("tasks?state=open&agent=payer")["tasks"], "it asks")
        running_desk.decide(task, "approved")
        said, errors = night.communicate(timeout=5 * PATIENCE)
    assert night.returncode == 0 and "delivered ['approved']" in said, said + errors
    assert said.startswith(running_desk.url)

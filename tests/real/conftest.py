"""The real agent servers, started once for all rounds."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import desk
from tests.trails import desk_is_good
from tests.waiting import PATIENCE

HERE = Path(__file__).parent / "agents"
PORTS = {"langgraph": 9101, "strands": 9102}
ENVIRONMENTS = Path(os.environ.get("AGENTS_ROOT", Path.home() / ".agents"))


@dataclass(frozen=True)
class RealAgent:
    """One of the servers: `url` of a path, and the list of tool bodies that really ran."""

    name: str

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{PORTS[self.name]}{path}"

    def ledger(self) -> list[dict[str, Any]]:
        with urllib.request.urlopen(self.url("/_ledger"), timeout=PATIENCE) as answer:
            found = json.load(answer)
        return found if isinstance(found, list) else found["executions"]


def servers() -> list[str]:
    return [name for name in PORTS if (ENVIRONMENTS / name / ".pinned").exists()]


@pytest.fixture(scope="session")
def real_agents() -> Iterator[dict[str, RealAgent]]:
    """Both servers; without their environments the rounds are skipped, unless `REQUIRE_AGENTS` is set."""
    if set(servers()) != set(PORTS):
        if os.environ.get("REQUIRE_AGENTS"):
            pytest.fail("the real agents are not installed: run tests/real/agents/setup.sh")
        pytest.skip("the real agents are not installed: run tests/real/agents/setup.sh")
    with used_by_us(ENVIRONMENTS / "run"):
        yield {name: RealAgent(name) for name in PORTS}


@pytest.fixture(scope="module", autouse=True)
def its_turn(real_agents: dict[str, RealAgent]) -> Iterator[None]:
    """One file at a time in a parallel run: what a ledger tells meanwhile is of that file alone."""
    with (ENVIRONMENTS / "run" / "turn.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def used_by_us(folder: Path) -> Iterator[None]:
    """The servers are shared by the processes of a parallel run: the first starts them, the last one stops them.

    Whoever uses them holds `users.lock` with the others; `door.lock` is held only while they start or stop.
    """
    folder.mkdir(exist_ok=True)
    with (folder / "users.lock").open("w") as users, (folder / "door.lock").open("w") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        subprocess.run(["bash", str(HERE / "run.sh"), "start"], check=True, timeout=4 * PATIENCE)
        fcntl.flock(users, fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        yield
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(users, fcntl.LOCK_UN)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            subprocess.run(["bash", str(HERE / "run.sh"), "stop"], check=True, timeout=4 * PATIENCE)


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory, real_agents: dict[str, RealAgent]) -> Iterator[desk.Desk]:
    with desk.running(tmp_path_factory.mktemp("desk")) as running:
        yield running
        desk_is_good(running)

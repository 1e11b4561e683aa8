"""The field cases of `tests/cases`, played against the product from outside by their own program."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases"
SLOW = {
    "liv-04-viewer-leaves",
    "liv-06-second-subscription",
    "net-03-quiet-but-alive",
    "net-07-long-run-in-a-web-worker",
}
HELD = {"PASS", "MANUAL"}  # MANUAL: all that a program can judge held
LANES = 2  # one class waits for minutes: it plays beside the others
LIMIT_SECONDS = 1800
LINES = 40  # of the product's log, and of its trail, beside a case that did not hold

pytestmark = [pytest.mark.cases, pytest.mark.timeout(LIMIT_SECONDS + 60), pytest.mark.xdist_group("cases")]


def selected() -> list[str]:
    """Every case but those that last for minutes, whatever the machine: `make cases` plays these as well."""
    return sorted({path.parent.name for path in CASES.glob("*/case.json")} - SLOW, reverse=True)


def clean_environment() -> dict[str, str]:
    """The product as its operator starts it: nothing of these tests."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}


def start(ids: list[str], results: Path) -> subprocess.Popen[str]:
    """One lane; its databases and logs stay in a folder beside the results."""
    folder = results.with_suffix("")
    folder.mkdir()
    return subprocess.Popen(
        [sys.executable, CASES / "run_cases.py", "--project", ROOT, "--python", sys.executable,
         "--only", ",".join(ids), "--json", results, "--slack", "5", "--keep"],
        env={**clean_environment(), "TMPDIR": str(folder)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What came of every selected case, by its id; all are played once."""
    folder = tmp_path_factory.mktemp("cases")
    lanes = {folder / f"{n}.json": selected()[n::LANES] for n in range(LANES)}
    running = {path: start(ids, path) for path, ids in lanes.items()}
    try:
        said = {path: each.communicate(timeout=LIMIT_SECONDS)[0] for path, each in running.items()}
    finally:
        for each in running.values():
            each.send_signal(signal.SIGINT)  # it ends the product it started; a process that is over hears nothing
            each.wait(60)
    missing = [said[path] for path in lanes if not path.exists()]
    assert not missing, "\n".join(missing)
    yield {
        case["id"]: {**case, "left": left_by(path, number)}
        for path in lanes
        for number, case in enumerate(json.loads(path.read_text("utf-8")), 1)
    }
    for path in lanes:
        shutil.rmtree(path.with_suffix(""))


def left_by(results: Path, number: int) -> list[str]:
    """What the product printed in the n-th case of a lane, and wrote to its trail: it is started anew for each."""
    (folder,) = results.with_suffix("").glob("cases-*")
    log = folder / f"product-{number}.log"
    printed = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    with closing(sqlite3.connect(folder / f"case-{number}.sqlite3")) as database:
        entries = database.execute("SELECT at, verb, CAST(sentence AS TEXT) FROM approvals_auditentry ORDER BY seq")
        return [*printed[-LINES:], *[" ".join(map(str, entry)) for entry in entries][-LINES:]]


@pytest.mark.parametrize("case", selected())
def test_field_case(case: str, results: dict[str, Any]) -> None:
    result = results[case]
    assert result["word"] in HELD, "\n".join([result["summary"], *result["failures"], *result["left"]])

"""`python -m agentbridge.guard` from its command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentbridge.guard import __main__ as program
from agentbridge.guard.journal import Journal
from tests.agentbridge.guard.conftest import answer, asked, full
from tests.agentbridge.guard.programs import ROOT, Bank, GuardProcess
from tests.scripted_agent import RESET, Answer, ScriptedAgent, finished, frame, pausing, started
from tests.waiting import PATIENCE

AGENT = ("--agent", "http://127.0.0.1:9/agent")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "9000"], "--agent needs"), (["--agent", "ftp://x/", "--port", "9000"], "--agent needs"),
        (["--agent", "http://me:secret@x/", "--port", "9000"], "must not hold a user name"),
        ([*AGENT], "--port needs"), ([*AGENT, "--port", "99999"], "--port needs"),
        ([*AGENT, "--port", "9000", "--require-signature"], "needs --keys"),
    ],
)  # fmt: skip
def test_a_wrong_word_is_named(words: list[str], said: str, tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(["--state", str(tmp_path / "state"), *words])
    assert ended.value.code == 2 and said in capsys.readouterr().err


def test_keys_that_cannot_be_read_stop_the_start(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "keys").write_text('{"keys":[]}')
    for source, said in ((tmp_path / "keys", "no Ed25519 key"), (tmp_path / "none", "cannot be read")):
        words = ["--state", str(tmp_path / "state"), *AGENT, "--port", "9000", "--keys", str(source)]
        assert program.main(words) == 1
        assert said in capsys.readouterr().err


def test_settling_needs_a_doubt_and_what_was_found_out(tmp_path: Path, capsys: Any) -> None:
    state = ["--state", str(tmp_path / "state")]
    assert program.main([*state, "--settle", "t"]) == 2
    assert program.main([*state, "--settle", "t", "--as", "open"]) == 1
    assert "There is no state file" in capsys.readouterr().err


def test_a_state_file_that_cannot_be_written_is_said(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Journal(tmp_path / "state").close()
    monkeypatch.setattr(Journal, "settle", full)
    assert program.main(["--state", str(tmp_path / "state"), "--settle", "t", "--as", "open"]) == 1
    assert "cannot be read or written: database or disk is full." in capsys.readouterr().err


def test_an_owner_settles_beside_the_running_guard(tmp_path: Path, capsys: Any) -> None:
    with ScriptedAgent([pausing(), Answer([started(), RESET])]) as agent:
        guard = GuardProcess(agent.url, tmp_path / "state")
        guard.start()
        post = lambda run, resume=None: httpx.post(guard.url, json=asked(run, resume), trust_env=False)  # noqa: E731
        post("r-1"), post("r-2", [answer()])
        assert "RESUME_IN_DOUBT" in post("r-3").text
        assert program.main(["--state", str(guard.state), "--settle", "t-1", "--as", "open"]) == 0
        assert "RESUME_REQUIRED" in post("r-4").text
        guard.kill()
    assert "Settled as open" in capsys.readouterr().out


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with Bank() as bank:
        words = [sys.executable, "-m", "agentbridge.guard", "--agent", bank.url, "--state", str(tmp_path / "state")]
        ended = subprocess.run(
            [*words, "--port", str(bank.port)], cwd=ROOT, env={"PATH": os.environ["PATH"]}, capture_output=True,
            text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    assert ended.returncode == 1 and f"Port {bank.port} on 127.0.0.1 cannot be used." in ended.stderr


def test_it_ends_when_it_is_asked_to_and_knows_everything_afterwards(tmp_path: Path) -> None:
    with Bank() as bank:
        guard = GuardProcess(bank.url, tmp_path / "state")
        guard.start()
        first = httpx.post(guard.url, json=asked("r-1", thread="t"), trust_env=False)
        guard.kill(signal.SIGTERM)
        guard.start()
        again = httpx.post(guard.url, json=asked("r-2", thread="t"), trust_env=False)
        guard.kill(signal.SIGTERM)
    assert b'"interrupt"' in first.content and b"RESUME_REQUIRED" in again.content


def test_it_runs_without_django(tmp_path: Path) -> None:
    code = "import agentbridge.guard.__main__, agentbridge.guard.server, sys; print(json.dumps(sorted(sys.modules)))"
    told = subprocess.run(
        [sys.executable, "-c", f"import json; {code}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not [name for name in json.loads(told.stdout) if name.partition(".")[0] in ("django", "channels")]


def test_a_slow_listener_costs_no_memory(tmp_path: Path) -> None:
    """Forty megabytes for somebody who does not read: they wait in the file, not in the process."""
    part = b": " + b"x" * 65_000 + b"\n\n" + frame(type="CUSTOM", name="n", value="y" * 65_000)
    with ScriptedAgent([Answer([started(), *[part] * 300, finished()])]) as agent:
        guard = GuardProcess(agent.url, tmp_path / "state")
        guard.start()
        before = resident(guard)
        with httpx.Client(trust_env=False) as client, client.stream("POST", guard.url, json=asked("r-1")) as slow:
            guard.wait_for_size(300 * len(part))
            assert resident(guard) - before < 20 * 2**20
            assert b"RUN_FINISHED" in b"".join(slow.iter_raw())[-500:]
        guard.kill()


def resident(guard: GuardProcess) -> int:
    assert guard.process is not None
    pages = int(Path(f"/proc/{guard.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")

"""The connector beside an agent: exact, once, and nothing lost over a `kill -9`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from agentbridge.connector import carrier, exactly
from agentbridge.connector.__main__ import first_run
from agentbridge.connector.journal import InUse, Job, Journal
from agentbridge.connector.wire import Errors
from agentbridge.models import Agent, Resume, Run
from agentbridge.ways import pull
from approvals.models import Case, User
from tests.agentbridge.ways.desk import Outside, asked, outside
from tests.agentbridge.ways.test_push_and_pull import DOCUMENT
from tests.bridge_work import Script, work
from tests.people import decide, only_task
from tests.scripted_agent import HANG, Answer, ScriptedAgent, finished, finishing, pausing, result, started
from tests.waiting import PATIENCE, until

ROOT = Path(__file__).parents[3]


def connector(host: Outside, agent: ScriptedAgent, state: Path, *more: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "agentbridge.connector", "--desk", host.address(), "--agent", agent.url]
    given = {"PATH": os.environ["PATH"], "COUNTERSIGN_TOKEN": host.tokens.host}
    return subprocess.Popen(
        [*words, "--state", str(state), *more], cwd=ROOT, env=given, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def once(host: Outside, agent: ScriptedAgent, state: Path, *more: str) -> None:
    _, errors = (process := connector(host, agent, state, "--once", *more)).communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors.decode()


def failed_once(host: Outside, agent: ScriptedAgent, state: Path, *more: str) -> str:
    """What it says when it could not do what it was asked for."""
    _, errors = (process := connector(host, agent, state, "--once", *more)).communicate(timeout=PATIENCE)
    assert process.returncode == 1, errors.decode()
    return errors.decode()


@pytest.fixture
def host(web: str, alice: User) -> Outside:
    return outside(web)


@pytest.fixture
def approved(host: Outside, alice: User) -> Outside:
    host.push(DOCUMENT)
    decide(only_task(Case.objects.get()), alice)
    work()
    return host


@pytest.fixture
def fetching(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Who waits for an answer at the desk, and every look of theirs for one."""
    inside: list[object] = []
    owed, hand_out = pull.owed, pull.hand_out

    @contextmanager
    def counted() -> Iterator[None]:
        inside.append(mine := object())
        try:
            yield
        finally:
            inside.remove(mine)

    async def waits(agent: Agent, **told: Any) -> list[bytes]:
        with counted():
            return await owed(agent, **told)

    def looks(agent: Agent) -> list[bytes]:
        with counted():
            return hand_out(agent)

    monkeypatch.setattr(pull, "owed", waits)
    monkeypatch.setattr(pull, "hand_out", looks)
    return inside


def pushed(thread: str) -> dict[str, Any]:
    """The pause of `DOCUMENT` on a thread of its own."""
    stream = [{**event, **({"threadId": thread} if "threadId" in event else {})} for event in DOCUMENT["events"]]
    return {"input": asked("run-1", thread), "events": stream}


wire = pytest.mark.django_db(transaction=True)


@wire
def test_an_answer_is_carried_to_the_agent_and_its_run_back(approved: Outside, script: Script, tmp_path: Path) -> None:
    agent = script(finishing())
    once(approved, agent, tmp_path)
    assert [post.body for post in agent.posts] == [bytes(Run.objects.get(kind="resumed").input)]
    assert (Resume.objects.get().state, Case.objects.get().state) == ("finished", "delivered")


@wire
def test_a_first_run_is_made_and_pushed_with_its_input(host: Outside, script: Script, tmp_path: Path) -> None:
    sent = json.dumps(asked(forwardedProps={"z": 1, "a": 12345678901234567890})).encode()
    (tmp_path / "input.json").write_bytes(sent)
    agent = script(pausing())
    once(host, agent, tmp_path / "state", "--input", str(tmp_path / "input.json"))
    assert agent.posts[0].body == bytes(Run.objects.get().input) == sent and Case.objects.get().state == "open"


@wire
def test_a_round_from_cron_to_the_result(host: Outside, script: Script, tmp_path: Path, alice: User) -> None:
    (tmp_path / "input.json").write_text(json.dumps(asked()))
    agent = script(pausing(), finishing())
    once(host, agent, tmp_path / "state", "--input", str(tmp_path / "input.json"))
    decide(only_task(Case.objects.get()), alice)
    work()
    once(host, agent, tmp_path / "state")
    once(host, agent, tmp_path / "state")
    assert Case.objects.get().state == "delivered" and len(agent.posts) == 2


@wire
def test_a_first_run_that_never_left_is_made_by_the_next_call(host: Outside, script: Script, tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text(json.dumps(asked()))
    words = (tmp_path / "state", "--input", str(tmp_path / "input.json"))
    agent = script(pausing())
    agent.down()
    assert "cannot be reached" in failed_once(host, agent, *words) and not Run.objects.exists()
    agent.up()
    once(host, agent, *words)
    assert len(agent.posts) == 1 and Case.objects.get().state == "open"


@wire
def test_a_first_run_that_the_agent_refuses_is_no_good_night(host: Outside, script: Script, tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text(json.dumps(asked()))
    words = (tmp_path / "state", "--input", str(tmp_path / "input.json"))
    told = failed_once(host, script(Answer([], status=404)), *words)
    assert "The agent answered HTTP 404" in told and "no run to hand in" in told and not Run.objects.exists()


@wire
def test_a_token_of_nobody_ends_a_single_call(host: Outside, script: Script, tmp_path: Path) -> None:
    stranger = replace(host, tokens=replace(host.tokens, host="csh_nobody"))
    told = failed_once(stranger, script(), tmp_path)
    assert told == "HTTP 401: Send the Bearer token of this agent. " \
        "Is the token the host token of this agent, and its name in --desk right?\n"


@pytest.mark.parametrize("text", ["pay the bills", "[]", '{"threadId":"t","runId":7}', '{"threadId":"","runId":"r"}'])
def test_what_is_no_input_goes_to_nobody(text: str, tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text(text)
    with pytest.raises(ValueError, match="is no RunAgentInput"):
        first_run(tmp_path / "input.json")


@wire
def test_a_slow_run_keeps_no_other_answer_waiting(host: Outside, script: Script, tmp_path: Path, alice: User) -> None:
    seen = threading.Event()
    slow = Answer([started(), seen, result(), finished()])
    agent = script(slow, Answer([started(), result(), finished()]))
    process = connector(host, agent, tmp_path)
    try:
        for n in (1, 2):
            host.push(pushed(f"thread-{n}"))
            decide(only_task(Case.objects.latest("pk")), alice)
            work()
            until(lambda n=n: len(agent.posts) == n)
        until(Resume.objects.filter(state="finished").exists)
        assert Resume.objects.latest("pk").state == "finished" and Resume.objects.earliest("pk").state == "armed"
    finally:
        process.kill()
        process.communicate()
        seen.set()


@pytest.mark.parametrize("url", ["agent.internal", "ftp://agent/", "http://"])
def test_an_address_that_is_none_is_said_before_anything_is_fetched(url: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "agentbridge.connector", "--desk", "http://127.0.0.1:9/agui/x", "--agent", url]
    given = {"PATH": os.environ["PATH"], "COUNTERSIGN_TOKEN": "csh_x"}
    said = subprocess.run([*words, "--state", str(tmp_path)], cwd=ROOT, env=given, capture_output=True)
    assert said.returncode == 1 and b"no http or https address" in said.stderr


@wire
def test_it_waits_for_a_desk_that_is_away(approved: Outside, script: Script, tmp_path: Path) -> None:
    agent = script(finishing())
    away = Outside("http://127.0.0.1:9", approved.agent, approved.tokens)
    process = connector(away, agent, tmp_path)
    assert process.stderr is not None
    for _try in range(2):
        assert any(b"The desk cannot be reached" in line for line in process.stderr)
    process.kill()
    process.communicate()
    once(approved, agent, tmp_path)
    assert Resume.objects.get().state == "finished"


@wire
def test_a_kill_while_the_agent_answers_calls_it_no_second_time(
    approved: Outside, script: Script, tmp_path: Path
) -> None:
    agent = script(Answer([started(), result(), HANG]))
    process = connector(approved, agent, tmp_path)
    until(lambda: any(job.stream.count(b"\n\n") == 2 for job in jobs(tmp_path)))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    once(approved, agent, tmp_path)
    assert len(agent.posts) == 1 and Resume.objects.get().state == "outcome_unknown"


@wire
def test_a_kill_while_it_waits_hands_the_next_answer_to_the_next_connector(
    host: Outside, script: Script, tmp_path: Path, alice: User, fetching: list[object]
) -> None:
    host.push(DOCUMENT)
    agent = script(finishing())
    process = connector(host, agent, tmp_path)
    until(lambda: fetching, "the connector waits at the desk")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    until(lambda: not fetching, "the desk sees that it is gone")
    decide(only_task(Case.objects.get()), alice)
    work()
    once(host, agent, tmp_path)
    assert Resume.objects.get().state == "finished"


def jobs(folder: Path) -> list[Job]:
    return [Job(path) for path in folder.iterdir() if path.is_dir()]


def test_an_answer_without_end_is_read_as_far_as_a_desk_takes_it(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carrier, "STREAM_LIMIT", 100)
    agent = script(Answer([started(), b": more\n\n" * 50, HANG]))
    with Journal(tmp_path) as journal:
        job = journal.add(json.dumps(asked()).encode())
        carrier.Carrier(desk="http://desk.invalid", agent=agent.url, token="", journal=journal).call(job)
    assert len(job.stream) == 100 and job.has("whole")


def test_texts_keep_their_bytes_however_deep_they_are() -> None:
    deep = b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"
    odd = b'{"n":1.50, "s":"}]\\"","u":"\xc3\xa9"}'
    assert exactly.objects(b'{"resumes":[' + deep + b", " + odd + b"]}", "resumes") == [deep, odd]
    assert exactly.objects(b'{ "resumes" : [ ] }', "resumes") == []


CUT = b'{"resumes":[{"a":"' + b"x" * 100
NO_LIST = [b"", b"{}", b'{"resumes":[{"a":1}', b'{"others":[]}', b"<html>", CUT]


@pytest.mark.parametrize("body", NO_LIST)
def test_what_is_no_list_of_answers_is_not_taken_for_one(body: bytes) -> None:
    with pytest.raises(ValueError, match="The answer"):
        exactly.objects(body, "resumes")


def test_what_was_cut_inside_a_text_that_closes_brackets_is_not_whole() -> None:
    with pytest.raises(exactly.Cut) as broken_off:
        exactly.objects(b'{"resumes":[{"a":1},{"b":"}', "resumes")
    assert broken_off.value.found == [b'{"a":1}']


def test_what_somebody_else_answers_in_the_place_of_the_desk_is_waited_out(web: str, tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        elsewhere = carrier.Carrier(desk=f"{web}/healthz?", agent=web, token="t", journal=journal)
        with pytest.raises(Errors, match="no list"):
            elsewhere.fetch(0)


def test_of_an_answer_that_is_cut_off_the_whole_inputs_are_kept(tmp_path: Path) -> None:
    cut = b'{"resumes":[{"runId":"r-1"},{"runId":"r-2"},{"runId":'
    with Journal(tmp_path) as journal, cut_short(cut) as desk, cut_short(b'{"resumes":[{"a"') as nothing:
        found = carrier.Carrier(desk=desk, agent="", token="t", journal=journal).fetch(0)
        assert [job.input for job in found] == [b'{"runId":"r-1"}', b'{"runId":"r-2"}']
        with pytest.raises(Errors):
            carrier.Carrier(desk=nothing, agent="", token="t", journal=journal).fetch(0)


@contextmanager
def cut_short(body: bytes) -> Iterator[str]:
    """A desk whose connection breaks in the middle of what it announced."""

    class Desk(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body) + 100))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_said: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Desk) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(("age", "in_time"), [(1000, False), (-1000, False), (0, True)])
def test_an_answer_that_lay_in_a_stopped_connector_is_not_given_late(tmp_path: Path, age: float, in_time: bool) -> None:
    with Journal(tmp_path) as journal:
        job = journal.add(json.dumps(asked()).encode())
        since = {"clock": lambda: job.kept_at + age}
        connector = carrier.Carrier(desk="http://desk.invalid", agent="", token="t", journal=journal, **since)
        assert connector.in_time(job) is in_time and list(journal.open()) == [job] * in_time


def test_nothing_is_fetched_that_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_the_way, done = tmp_path / ".room.new", []

    def waits(*_told: object) -> None:
        done.append("waited")
        in_the_way.rmdir()

    def fetches(_wait: float) -> list[Job]:
        done.append("fetched")
        return []

    with Journal(tmp_path) as journal:
        in_the_way.mkdir()
        connector = carrier.Carrier(desk="http://desk.invalid", agent="", token="t", journal=journal)
        monkeypatch.setattr(connector, "wait_out", waits)
        monkeypatch.setattr(connector, "fetch", fetches)
        connector.run(once=True)
    assert done == ["waited", "fetched"]


def test_a_frame_that_is_no_json_goes_along_as_text() -> None:
    told = json.loads(exactly.document(b'{"threadId":"t"}', ['{"a":1}', "{oops", "NaN"]))
    assert told["events"] == [{"a": 1}, "{oops", "NaN"]


def test_one_connector_per_folder(tmp_path: Path) -> None:
    with Journal(tmp_path) as kept:
        with pytest.raises(InUse):
            Journal(tmp_path)
        assert list(kept.open()) == []
    with Journal(tmp_path):
        pass


def test_the_same_input_is_the_same_job_and_a_pushed_one_is_over(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        job = journal.add(b'{"a":1}')
        assert journal.add(b'{"a":1}') == job and [one.input for one in journal.open()] == [b'{"a":1}']
        job.mark("pushed")
        assert list(journal.open()) == []

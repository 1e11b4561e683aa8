"""Agents that mean no good: endless frames and comments, deep values, huge ids. The others are served all the same."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from agentbridge import dialects
from agentbridge.models import Run
from agentbridge.runs import opening
from approvals.models import Case, User
from tests import source
from tests.agentbridge.recordings import Tape, case_of
from tests.agentbridge.streams import STARTED, read
from tests.agentbridge.streams import finished as ended
from tests.bridge_work import Script, ask, register, work
from tests.scripted_agent import Answer, call, finished, frame, interrupt, pausing, started

# A process of its own: the most memory it ever held, in kB. (ru_maxrss would be that of the process before exec, too.)
MEASURED = """
import json
from agentbridge.wire.reading import Reader
def held():
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
reader = Reader(thread_id="t", run_id="r", run_input=None)
reader.feed(b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\\n\\n' + %(head)r)
before = held()
fed = 0
while fed < 256 * 1024 * 1024:
    reader.feed(%(piece)s)
    fed += 65536
reader.close()
grown = held() - before
print(json.dumps({"grown": grown, "status": reader.runs[0].status, "cut": reader.runs[0].cut, "bytes": reader.bytes}))
"""
FLOODS = {
    "a frame without end": (b'data: {"type":"RAW","event":"', 'b"x" * 65536'),
    "a frame of empty lines": (b"", 'b"data:\\n" * 10922 + b"data"'),
    "a comment without end": (b": ", 'b"x" * 65536'),
    "a field nobody knows": (b"nonsense", 'b"x" * 65536'),
    "arguments without end": (
        b'data: {"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"n"}\n\n',
        """b'data: {"type":"RAW","event":"' + b"x" * 65500 + b'"}\\n\\n'""",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOODS)
def test_256_mib_without_an_end_leave_the_memory_flat(name: str) -> None:
    head, piece = FLOODS[name]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED % {"head": head, "piece": piece}], cwd=source.ROOT, capture_output=True,
        text=True, check=True, timeout=100,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert told["grown"] < 48 * 1024, told
    assert (told["status"], "larger than" in told["cut"]) == ("truncated", True)
    assert told["bytes"] <= 64 * 1024 * 1024 + 65536


@pytest.fixture
def tape(payments: Any, alice: User) -> Tape:
    return Tape(payments, alice)


DEEP = "[" * 9_000 + "]" * 9_000
DEEP_FRAMES = {
    "state": f'{{"type":"STATE_SNAPSHOT","snapshot":{DEEP}}}',
    "custom": f'{{"type":"CUSTOM","name":"on_interrupt","value":{DEEP},"rawEvent":{DEEP}}}',
    "messages": f'{{"type":"MESSAGES_SNAPSHOT","messages":[{{"id":"m","role":"user","content":{DEEP}}}]}}',
    "change": f'{{"type":"STATE_DELTA","delta":[{{"op":"add","path":"/x","value":{DEEP}}}]}}',
    "result": f'{{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"tc-1","content":[{DEEP}]}}',
    "arguments": json.dumps({"type": "TOOL_CALL_ARGS", "toolCallId": "tc-1", "delta": DEEP}),
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", DEEP_FRAMES)
def test_depth_is_data_on_record_and_on_the_page(tape: Tape, alice: User, client: Client, name: str) -> None:
    opened = frame(type="TOOL_CALL_START", toolCallId="tc-1", toolCallName="pay")
    deep = f"data: {DEEP_FRAMES[name]}\n\n".encode()
    closed = frame(type="TOOL_CALL_END", toolCallId="tc-1")
    case = case_of(tape.record(started(), opened, deep, closed, finished(interrupt())))
    client.force_login(alice)
    assert (case.state, client.get(f"/cases/{case.code}/").status_code) == ("open", 200)


@pytest.mark.django_db
@pytest.mark.parametrize("place", ["responseSchema", "metadata"])
def test_a_deep_question_is_seen_and_answerable(tape: Tape, alice: User, client: Client, place: str) -> None:
    asked = json.dumps(interrupt(**{place: "?"})).replace('"?"', f'{{"a":{DEEP}}}').encode()
    outcome = b'{"type":"interrupt","interrupts":[' + asked + b"]}"
    end = b'data: {"type":"RUN_FINISHED","threadId":"__THREAD__","runId":"__RUN__","outcome":' + outcome + b"}\n\n"
    case = case_of(tape.record(started(), call(), end))
    client.force_login(alice)
    assert (case.state, client.get(f"/cases/{case.code}/").status_code) == ("open", 200)


def test_an_announcement_as_deep_as_can_be_read_is_a_question_like_any_other() -> None:
    deep = "[" * 11_990 + "]" * 11_990
    custom = f'{{"type":"CUSTOM","name":"on_interrupt","value":{deep},"rawEvent":{{"id":"i-1"}}}}'
    dialect, [pause], _ = dialects.recognise(read(STARTED, custom, ended()).run)
    assert list(dialect.kit(pause).forms)


@pytest.mark.django_db
def test_millions_of_brackets_cost_little_and_are_left_out_with_a_warning(tape: Tape, alice: User) -> None:
    bottomless = "[" * 4_000_000 + "]" * 4_000_000
    began = time.process_time()
    state = f'data: {{"type":"STATE_SNAPSHOT","snapshot":{bottomless}}}\n\n'.encode()
    run = tape.record(started(), call(args=bottomless), state, finished(interrupt()))
    assert time.process_time() - began < 60  # it took minutes, and gigabytes
    assert run.tool_calls.get().state == "invalid"
    assert ("deeper than 12000" in run.warnings, case_of(run).state) == (True, "open")


@pytest.mark.django_db
def test_ids_and_names_of_a_megabyte_are_only_long(tape: Tape, alice: User, client: Client) -> None:
    big = "i" * 1_000_000
    run = tape.record(started(), call(big, id_=big), finished(interrupt(big, big, reason=big, subagentRunId=big)))
    case = case_of(run)
    client.force_login(alice)
    pages = [client.get(path).status_code for path in ("/queue/", f"/cases/{case.code}/")]
    assert (pages, run.interrupts.get().interrupt_id == big) == ([200, 200], True)


@pytest.mark.django_db
def test_ten_thousand_deviations_are_counted_on_the_run_and_not_listed(tape: Tape) -> None:
    flood = frame(type="TEXT_MESSAGE_CONTENT", messageId="x", delta="y") * 10_000
    run = tape.record(started(), flood, call(), finished(interrupt()))
    assert len(run.warnings) < 20_000
    assert "9950 more like this" in run.warnings


@pytest.mark.django_db(transaction=True)
def test_an_agent_that_only_comments_is_cut_by_us_and_it_says_so(script: Script, alice: User, settings: Any) -> None:
    settings.RUN_SECONDS = 1
    ask(register(script(Answer([started(), *[b": still here\n\n", 0.1] * 6000]))), alice)
    work()
    run = Run.objects.get()
    assert (run.status, "We stopped reading" in run.error) == ("truncated", True)


def flood() -> Iterator[bytes]:
    yield started()
    yield frame(type="TEXT_MESSAGE_START", messageId="m")
    for _ in range(600):
        yield frame(type="TEXT_MESSAGE_CONTENT", messageId="m", delta="y") * 800  # 60 kB each


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_one_agent_that_floods_does_not_hold_up_another(script: Script, alice: User) -> None:
    loud, quiet = script(Answer([*flood(), *pausing().parts[1:]])), script(pausing())
    ask(register(loud, slug="loud"), alice)
    ask(register(quiet, slug="quiet"), alice)
    work()
    took = {run.thread.agent.slug: (run.ended_at - run.armed_at).total_seconds() for run in Run.objects.all()}
    assert took["quiet"] < max(1, took["loud"] / 3), took
    assert sorted(Case.objects.values_list("agent", flat=True)) == ["loud", "quiet"]


@pytest.mark.django_db
def test_a_run_that_asks_more_than_anybody_could_answer_is_shown_and_not_answered(tape: Tape) -> None:
    asked = [interrupt(f"int-{number}", None) for number in range(opening.MOST + 1)]
    run = tape.record(started(), call(), finished(*asked))
    case = case_of(run)
    assert (case.tasks.count(), run.interrupts.count()) == (opening.SHOWN_OF_MORE, opening.MOST + 1)
    assert case.blocked.startswith("This run asks more than 1000 questions at once.")

"""X-1 to X-14 where `test_relay` does not hold them yet: a recorder that judges, beside a proxy that does not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from agentbridge.models import Run
from approvals import jsontext
from approvals.models import Case
from tests.agentbridge.ways.desk import asked, outside
from tests.bridge_work import Script
from tests.scripted_agent import Answer, call, finished, frame, interrupt, started
from tests.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


def passes_as_it_is(web: str, script: Script, *parts: bytes) -> Run:
    """The run of an answer that the caller got byte for byte."""
    answer = outside(web, script(Answer(parts))).run()
    assert answer.content == b"".join(parts).replace(b"__THREAD__", b"thread-1").replace(b"__RUN__", b"run-1")
    return Run.objects.get()


def test_x1_x4_what_offends_is_passed_on_and_warned_about_on_the_record(web: str, script: Script) -> None:
    nameless, endless = frame(type="TOOL_CALL_ARGS", delta="{}"), frame(type="TOOL_CALL_END", toolCallId="x")
    run = passes_as_it_is(web, script, started(), nameless, b"data: {oops\n\n", endless, finished())
    assert run.status == "succeeded" and len(jsontext.loads(run.warnings)) >= 3


@pytest.mark.parametrize(
    ("end", "status", "outcome"),
    [
        (frame(type="RUN_FINISHED", threadId="__THREAD__", runId="__RUN__"), "succeeded", ""),
        (
            frame(type="RUN_FINISHED", threadId="__THREAD__", runId="__RUN__", outcome={"type": "cancelled"}),
            "cancelled", "cancelled",
        ),
        (frame(type="RUN_ERROR", message="no", code="E1"), "failed", ""),
    ],
)  # fmt: skip
def test_x5_an_outcome_stays_what_it_was(web: str, script: Script, end: bytes, status: str, outcome: str) -> None:
    run = passes_as_it_is(web, script, started(), call(), end)
    assert (run.status, run.outcome) == (status, outcome)


def test_x13_foreign_ids_are_neither_rewritten_nor_taken_for_ours(web: str, script: Script) -> None:
    other = finished(interrupt()).replace(b"__RUN__", b"theirs").replace(b"__THREAD__", b"elsewhere")
    run = passes_as_it_is(web, script, started(), call(), other)
    assert (run.run_id, run.thread.thread_id) == ("run-1", "thread-1") and Case.objects.get().state == "open"


def test_x14_comments_of_the_agent_keep_the_caller_awake(web: str, script: Script) -> None:
    passes_as_it_is(web, script, started(), b": still here\n\n", b":\r\n\r\n", finished())


def test_x14_net05_no_frame_waits_for_the_next_one(web: str, script: Script) -> None:
    """The agent says nothing more until the caller has what it said before: a buffer anywhere would hang this."""
    seen = [threading.Event() for _ in range(10)]
    words: list[Any] = [started()]
    for n, event in enumerate(seen):
        words += [frame(type="CUSTOM", name="second", value=n), waiting(event)]
    caller = outside(web, script(Answer([*words, finished()])))
    headers = caller.headers("caller", **{"Accept-Encoding": "gzip, br"})
    text = ""
    with httpx.stream("POST", caller.address(), json=asked(), headers=headers) as answer:
        assert answer.headers["x-accel-buffering"] == "no" and "content-encoding" not in answer.headers
        assert "no-store" in answer.headers["cache-control"]
        for part in answer.iter_raw():
            text += part.decode()
            for n in range(10):
                if f'"value":{n}' in text:
                    seen[n].set()
    assert all(event.is_set() for event in seen) and "RUN_FINISHED" in text


def waiting(event: threading.Event) -> Callable[[], None]:
    def wait() -> None:
        assert event.wait(PATIENCE), "the caller does not have the frame"

    return wait

"""One stream of events per thread: every run of it, in order, from any position, and nothing made up."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.utils import timezone

from agentbridge.models import Run, StreamChunk
from agentbridge.ways import following as following_thread
from approvals.models import Case, Queue, User
from tests.agentbridge.ways.desk import Outside, asked, outside
from tests.bridge_rows import add_agent, add_run
from tests.bridge_work import Script, work
from tests.people import decide, only_task
from tests.scripted_agent import RESET, Answer, call, finished, finishing, frame, pausing, started

pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO = timezone.now() - timedelta(days=1)


@contextmanager
def following(caller: Outside, **where: Any) -> Iterator[Iterator[str]]:
    """The frames, one by one."""
    query = {name: value for name, value in where.items() if name != "headers"}
    headers = {**caller.headers("caller"), **where.get("headers", {})}
    address = caller.address("/threads/thread-1/events")
    with httpx.stream("GET", address, params=query, headers=headers) as answer:
        assert answer.status_code == 200 and answer.headers["content-type"] == "text/event-stream"
        yield frames(answer)


def frames(answer: httpx.Response) -> Iterator[str]:
    held = ""
    for text in answer.iter_text():
        *whole, held = (held + text).split("\n\n")
        yield from (one for one in whole if "data:" in one)


def types(found: Iterator[str], count: int) -> list[str]:
    return [re.search(r'"type":"(\w+)"', next(found))[1] for _ in range(count)]


CALL = ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]


def test_the_resumed_run_follows_the_pause(web: str, script: Script, alice: User) -> None:
    caller = outside(web, script(pausing(), finishing()))
    caller.run()
    with following(caller) as found:
        assert types(found, 5) == ["RUN_STARTED", *CALL, "RUN_FINISHED"]
        decide(only_task(Case.objects.get()), alice)
        bridge = threading.Thread(target=work)
        bridge.start()
        assert types(found, 3) == ["RUN_STARTED", "TOOL_CALL_RESULT", "RUN_FINISHED"]
        bridge.join()


def test_a_caller_goes_on_after_the_run_that_it_saw(web: str, script: Script, alice: User) -> None:
    caller = outside(web, script(pausing(), finishing()))
    caller.run()
    decide(only_task(Case.objects.get()), alice)
    work()
    with following(caller, run="run-1") as found:
        assert types(found, 3) == ["RUN_STARTED", "TOOL_CALL_RESULT", "RUN_FINISHED"]


def test_a_listener_goes_on_after_any_frame(web: str, script: Script) -> None:
    caller = outside(web, script(pausing()))
    caller.run()
    with following(caller) as found:
        third = [next(found) for _ in range(3)][-1]
    position = re.match(r"id: (\S+)", third)[1]
    with following(caller, after=position) as found:
        assert types(found, 2) == ["TOOL_CALL_END", "RUN_FINISHED"]
    with following(caller, headers={"Last-Event-ID": position}) as found:
        assert types(found, 1) == ["TOOL_CALL_END"]


def test_x6_x10_a_run_that_broke_off_is_followed_by_the_next_without_an_end(web: str, script: Script) -> None:
    odd = frame(type="SOMETHING_NEW", big=123456789012345678901234567890)
    caller = outside(web, script(Answer([started(), odd, call(), RESET]), finishing()))
    caller.run()
    caller.run(asked("run-2"))
    with following(caller) as found:
        first = [next(found) for _ in range(5)]
        assert "123456789012345678901234567890" in first[1]
        assert types(found, 2) == ["RUN_STARTED", "TOOL_CALL_RESULT"]


def told_of_an_old_run(queue: Queue, parts: list[bytes], *, after: int = 0) -> list[bytes]:
    """The events behind so many of a run of which nothing more can come, each part received for itself."""
    run = add_run(add_agent(queue), stream=b"")
    StreamChunk.objects.bulk_create(StreamChunk(run=run, n=n, at=LONG_AGO, data=data) for n, data in enumerate(parts))
    Run.objects.update(ended_at=LONG_AGO)
    place = following_thread.Place(run.pk, after)
    follower = following_thread.Follower(run.thread.agent, run.thread, place, runs=1)
    told = b""
    while not follower.done:
        told += follower.look(now=timezone.now())
    return re.findall(rb'"type":"([A-Z_]+)"', told)


def test_a_long_run_of_comments_in_an_old_run_hides_nothing_behind_it(payments: Queue) -> None:
    parts = [started(), *[b": working\n\n"] * (2 * following_thread.CHUNKS), finished()]
    assert told_of_an_old_run(payments, parts) == [b"RUN_STARTED", b"RUN_FINISHED"]


def test_a_listener_goes_on_far_inside_an_old_run(payments: Queue) -> None:
    parts = [started(), *[frame(type="CUSTOM", name="step")] * (2 * following_thread.CHUNKS), finished()]
    assert told_of_an_old_run(payments, parts, after=2 * following_thread.CHUNKS) == [b"CUSTOM", b"RUN_FINISHED"]


def test_what_is_not_there_cannot_be_followed(web: str, script: Script) -> None:
    caller = outside(web, script(finishing()))
    caller.run()
    ask = {"headers": caller.headers("caller")}
    assert httpx.get(caller.address("/threads/other/events"), **ask).status_code == 404
    assert httpx.get(caller.address("/threads/thread-1/events?after=here"), **ask).status_code == 400
    assert httpx.get(caller.address("/threads/thread-1/events?run=run-9"), **ask).status_code == 400
    assert httpx.get(caller.address("/threads/thread-1/events")).status_code == 401


def test_a_listener_may_ask_for_one_run_and_gets_its_end(web: str, script: Script, alice: User) -> None:
    caller = outside(web, script(pausing(), finishing()))
    caller.run()
    decide(only_task(Case.objects.get()), alice)
    work()
    address = caller.address("/threads/thread-1/events?run=run-1&runs=1")
    told = httpx.get(address, headers=caller.headers("caller"))
    assert [types(iter([each]), 1)[0] for each in frames(told)] == ["RUN_STARTED", "TOOL_CALL_RESULT", "RUN_FINISHED"]
    assert httpx.get(address + "x", headers=caller.headers("caller")).status_code == 400


def test_one_listener_more_than_there_may_be_is_told_to_come_back(web: str, script: Script, settings: Any) -> None:
    caller = outside(web, script(finishing()))
    caller.run()
    settings.WORKER_STREAMS = 1
    with following(caller) as found:
        assert types(found, 1) == ["RUN_STARTED"]
        late = httpx.get(caller.address("/threads/thread-1/events"), headers=caller.headers("caller"))
        assert (late.status_code, late.json()["code"], late.headers["retry-after"]) == (503, "busy", "5")

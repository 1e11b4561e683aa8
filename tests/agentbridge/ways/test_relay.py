"""The relay: transparent, recorded to its end, closed to answers that go around the desk (X-1…X-14, T-96…T-98)."""

from __future__ import annotations

import gzip
import json
import threading
from typing import Any

import httpx
import pytest
from django.utils import timezone

from agentbridge.models import Run
from agentbridge.ways import admission, carrying, keeping
from agentbridge.ways.relay import Relayed
from agentbridge.work import sweeping
from approvals.models import AuditEntry, Case, User
from tests.agentbridge.ways.desk import asked, heard, outside
from tests.bridge_work import Script, work
from tests.people import decide, in_seconds, only_task
from tests.scripted_agent import RESET, Answer, call, finished, finishing, frame, interrupt, pausing, started
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


def recorded(run_id: str = "run-1") -> bytes:
    run = Run.objects.get(run_id=run_id)
    return b"".join(bytes(data) for data in run.chunks.order_by("n").values_list("data", flat=True))


ODD = frame(type="SOMETHING_NEW", big=123456789012345678901234567890) + b": hello\r\n\r\nid: 7\r\ndata:{ }\r\n\r\n"


def test_t96_x4_x8_what_comes_is_what_the_agent_sent_byte_for_byte(web: str, script: Script) -> None:
    agent = script(Answer([started(), ODD, call(), finished()]))
    answer = outside(web, agent).run()
    sent = b"".join([started(), ODD, call(), finished()])
    assert answer.content == sent.replace(b"__THREAD__", b"thread-1").replace(b"__RUN__", b"run-1")
    assert answer.content == until(lambda: recorded() if Run.objects.get().ended_at else b"")


def test_t96_x2_x3_what_goes_to_the_agent_is_what_the_caller_sent(web: str, script: Script) -> None:
    body = (
        b'{"runId":"run-1", "forwardedProps":{"z":1.50,"a":123456789012345678901234567890,"z":null},\n'
        b' "messages":[],"threadId":"thread-1","odd":[]}'
    )
    agent = script(finishing())
    assert outside(web, agent).run(body).status_code == 200
    assert agent.posts[0].body == body
    assert "authorization" not in agent.posts[0].headers


def test_x9_the_input_is_kept_beside_its_events(web: str, script: Script) -> None:
    outside(web, script(finishing())).run()
    run = Run.objects.get()
    assert json.loads(run.input) == asked() and run.way == "relay" and run.status == "succeeded"


def test_t97_x6_a_stream_that_breaks_off_breaks_off_for_the_caller(web: str, script: Script) -> None:
    answer = outside(web, script(Answer([started(), call(), RESET]))).run()
    assert b"RUN_FINISHED" not in answer.content and b"RUN_ERROR" not in answer.content
    assert Run.objects.get().status == "truncated"


def test_x7_an_agent_out_of_reach_is_an_http_error(web: str, script: Script) -> None:
    agent = script(finishing())
    caller = outside(web, agent)
    agent.down()
    answer = caller.run()
    assert (answer.status_code, answer.json()["code"]) == (502, "agent_unreachable")
    assert Run.objects.get().status == "unsent"
    agent.up()
    assert caller.run(asked("run-2")).status_code == 200


def test_a_second_request_of_a_name_is_refused_though_nobody_can_be_reached(
    web: str, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = script(finishing())
    caller = outside(web, agent)
    caller.run()
    agent.down()
    monkeypatch.setattr(admission, "check", lambda _agent, body: admission.read(body))  # the first came just after it
    assert caller.run().status_code == 409


def test_an_agents_own_refusal_is_passed_on(web: str, script: Script) -> None:
    headers = {"Content-Type": "application/x-no", "Retry-After": "7"}
    agent = script(Answer([b'{"no":"way"}'], status=429, headers=headers))
    answer = outside(web, agent).run()
    assert (answer.status_code, answer.content, answer.headers["retry-after"]) == (429, b'{"no":"way"}', "7")
    assert answer.headers["content-type"] == "application/x-no"


def test_x4_what_an_agent_compressed_unasked_can_be_read_by_the_caller(web: str, script: Script) -> None:
    told = started() + call()
    headers = {"Content-Type": "text/event-stream", "Content-Encoding": "gzip"}
    answer = outside(web, script(Answer([gzip.compress(told, mtime=0)], headers=headers))).run()
    assert (answer.headers["content-encoding"], answer.content.count(b"TOOL_CALL_END")) == ("gzip", 1)


def test_x12_a_pause_is_passed_on_as_it_is_and_its_case_is_there_first(web: str, script: Script) -> None:
    agent = script(Answer([started(), call(), finished(interrupt()), *[b": wait\n\n", 0.05] * 40]))
    caller = outside(web, agent)
    with httpx.stream("POST", caller.address(), json=asked(), headers=caller.headers("caller")) as answer:
        seen = heard(answer.iter_raw(), b"RUN_FINISHED")
        assert b'"type":"interrupt"' in seen and Case.objects.get().state == "open"


def test_x14_each_frame_leaves_at_once(web: str, script: Script) -> None:
    first, second = threading.Event(), threading.Event()
    caller = outside(web, script(Answer([started(), first, call(), second, finished()])))
    with httpx.stream("POST", caller.address(), json=asked(), headers=caller.headers("caller")) as answer:
        assert answer.headers["x-accel-buffering"] == "no" and "content-encoding" not in answer.headers
        parts = answer.iter_raw()
        heard(parts, b"RUN_STARTED")
        first.set()
        heard(parts, b"TOOL_CALL_END")
        second.set()
        heard(parts, b"RUN_FINISHED")


def test_x14_a_caller_who_goes_away_does_not_stop_the_recording(web: str, script: Script) -> None:
    caller = outside(web, script(Answer([started(), 0.5, call(), 0.5, finished(interrupt())])))
    with httpx.stream("POST", caller.address(), json=asked(), headers=caller.headers("caller")) as answer:
        next(answer.iter_raw())
    until(Case.objects.exists)
    assert Run.objects.get().status == "interrupted" and b"RUN_FINISHED" in recorded()


@pytest.mark.parametrize("more", [{}, {"resume": [{"interruptId": "int-1", "status": "cancelled"}]}])
def test_t98_x11_a_paused_thread_takes_nothing_from_a_caller(web: str, script: Script, more: Any) -> None:
    agent = script(pausing(), finishing())
    caller = outside(web, agent)
    caller.run()
    answer = caller.run(asked("run-2", **more))
    told = answer.json()
    assert (answer.status_code, told["code"], told["ids"]) == (409, "thread_open", ["int-1"])
    assert told["links"][0].endswith(f"/cases/{Case.objects.get().code}/")
    assert len(agent.posts) == 1


def test_t98_the_reviewers_answer_is_the_only_resume(web: str, script: Script, alice: User) -> None:
    agent = script(pausing(), finishing())
    caller = outside(web, agent)
    caller.run()
    decide(only_task(Case.objects.get()), alice)
    refused = caller.run(asked("run-2", resume=[{"interruptId": "int-1", "status": "resolved", "payload": {}}]))
    work()
    late = caller.run(asked("run-3", resume=[{"interruptId": "int-1", "status": "resolved", "payload": {}}]))
    assert refused.status_code == late.status_code == 409
    assert agent.resumes == [[{"interruptId": "int-1", "status": "resolved", "payload": {"approved": True}}]]
    assert caller.run(asked("run-4")).status_code == 200


def test_one_run_at_a_time_on_a_thread(web: str, script: Script) -> None:
    asked_in_vain = threading.Event()
    agent = script(Answer([started(), asked_in_vain, finished()]), finishing())
    caller = outside(web, agent)
    first = threading.Thread(target=caller.run)
    first.start()
    until(lambda: agent.posts)
    assert caller.run(asked("run-2")).json()["code"] == "thread_busy"
    assert caller.run(asked("run-3", "thread-2")).status_code == 200
    asked_in_vain.set()
    first.join()


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        (b"{", 422, ""), (b"[]", 422, ""), (b'{"threadId":"t"}', 422, "/runId"), (b'{"runId":"\xff"}', 422, ""),
        (b'{"threadId":"free","runId":"r","threadId":"paused"}', 422, "/threadId"),
        (b'{"threadId":"t","runId":"r","resume":[1],"resume":[]}', 422, "/resume"),
    ],
)  # fmt: skip
def test_what_is_no_input_never_reaches_the_agent(
    web: str, script: Script, body: bytes, status: int, pointer: str
) -> None:
    agent = script(finishing())
    answer = outside(web, agent).run(body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (status, pointer)
    assert not agent.posts and not Run.objects.exists()


def test_only_the_callers_token_opens_the_relay(web: str, script: Script) -> None:
    agent = script(finishing())
    caller = outside(web, agent)
    for token in ("", caller.tokens.host, "csc_wrong"):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        assert httpx.post(caller.address(), json=asked(), headers=headers).status_code == 401
    assert httpx.post(f"{web}/agui/other", json=asked(), headers=caller.headers("caller")).status_code == 401
    assert not agent.posts


def test_a_body_is_judged_for_nobody_without_the_token(web: str, script: Script) -> None:
    caller = outside(web, script(finishing()))
    told = httpx.post(caller.address(), content=b"{", headers={"Authorization": "Bearer csc_wrong"})
    assert told.status_code == 401


def test_a_strangers_body_is_not_even_read() -> None:
    """It may be as long as a stream, and memory is one for all."""
    read = [b"64 megabytes"]
    assert carrying.Relays()._admitted("none", "Bearer csc_wrong", read.pop) == (None, b"", None)
    assert read


def test_a_process_that_is_full_judges_no_body(web: str, script: Script, settings: Any) -> None:
    settings.WORKER_STREAMS = 0
    told = outside(web, script(finishing())).run(b"{")
    assert (told.status_code, told.json()["code"]) == (503, "busy")


def test_a_run_id_is_used_once(web: str, script: Script) -> None:
    caller = outside(web, script(finishing()))
    caller.run()
    assert caller.run(asked("run-1", "thread-2")).status_code == 409


def test_a_relayed_run_that_an_older_version_left_queued_is_not_sent(web: str, script: Script) -> None:
    agent = script(finishing())
    caller = outside(web, agent)
    admission.admit(caller.agent, json.dumps(asked()).encode(), owner="relay-lost", now=timezone.now())
    Run.objects.update(status="queued", armed_at=None)
    sweeping.sweep(in_seconds(60))
    work()
    assert Run.objects.get().status == "unsent" and not agent.posts


def test_a_relay_lost_on_the_way_is_not_asked_again(web: str, script: Script) -> None:
    agent = script(finishing())
    caller = outside(web, agent)
    admission.admit(caller.agent, json.dumps(asked()).encode(), owner="relay-lost", now=timezone.now())
    sweeping.sweep(in_seconds(60))
    work()
    assert Run.objects.get().status == "unknown" and not agent.posts


@pytest.mark.parametrize("cut", [20, 60, -30, -1])
def test_an_end_in_two_pieces_waits_for_its_case_too(web: str, script: Script, cut: int) -> None:
    end = finished(interrupt())
    caller = outside(web, script(Answer([started(), call(), end[:cut], 0.1, end[cut:], 0.2])))
    seen = b""
    with httpx.stream("POST", caller.address(), json=asked(), headers=caller.headers("caller")) as answer:
        for part in answer.iter_raw():
            seen += part
            assert not seen.endswith(b"}\n\n") or b"RUN_FINISHED" not in seen or Case.objects.exists()
    assert seen == recorded()


def test_an_end_that_is_spelled_otherwise_waits_for_its_case_too(web: str, script: Script) -> None:
    end = finished(interrupt()).replace(b"RUN_FINISHED", b"RUN\\u005fFINISHED")
    caller = outside(web, script(Answer([started(), call(), end, 0.3])))
    with httpx.stream("POST", caller.address(), json=asked(), headers=caller.headers("caller")) as answer:
        assert any(b"FINISHED" in part and Case.objects.exists() for part in answer.iter_raw())


def test_a_caller_who_reads_gets_all_that_a_database_standing_still_held_back(
    web: str, script: Script, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.UNREAD_LIMIT = 2**17
    told = frame(type="CUSTOM", name="note", value="RUN_FINISHED") + frame(type="CUSTOM", value="y" * 2**16) * 16
    store = keeping.store

    def pause(portions: Any) -> None:
        until(lambda: portions[0][0].received > len(told), "the rest of the answer")
        store(portions)

    monkeypatch.setattr(keeping, "store", pause)
    answer = outside(web, script(Answer([started(), told, finished()]))).run()
    assert told in answer.content and b"RUN_FINISHED" in answer.content[-200:]


def test_x6_nobody_hears_of_an_end_that_we_did_not_read(web: str, script: Script, settings: Any) -> None:
    """A caller who saw this pause would look for its case in vain."""
    settings.FRAME_LIMIT = 2**16
    large = frame(type="CUSTOM", name="large", value="y" * 2**17)
    caller = outside(web, script(Answer([started(), large, finished(interrupt())])))
    answer = caller.run()
    told = httpx.get(caller.address("/threads/thread-1/events?runs=1"), headers=caller.headers("caller")).content
    assert b"RUN_STARTED" in answer.content and b"RUN_STARTED" in told
    assert b"RUN_FINISHED" not in answer.content + told and not Case.objects.exists()
    assert Run.objects.get().error.startswith("A frame is larger")


def test_a_fault_of_ours_in_reading_breaks_off_and_stands_on_the_run(
    web: str, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_part: Any) -> bool:
        raise RuntimeError

    monkeypatch.setattr(Relayed, "_may_end", broken)
    assert outside(web, script(finishing())).run().content == b""
    run = until(lambda: Run.objects.filter(status="truncated").first())
    assert run.error == "We could not read the answer any further."


def test_the_trail_tells_what_a_caller_asked(web: str, script: Script) -> None:
    outside(web, script(finishing())).run()
    told = list(AuditEntry.objects.filter(verb__startswith="run.").order_by("seq").values_list("verb", flat=True))
    assert told == ["run.armed", "run.started", "run.finished"]

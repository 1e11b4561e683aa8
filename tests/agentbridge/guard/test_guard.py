"""What reaches an agent behind the guard, and what its clients hear."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from agentbridge.guard import app
from agentbridge.guard.journal import Journal
from tests.agentbridge.guard.conftest import NO, YES, Before, answer, asked, events, full
from tests.scripted_agent import (
    RESET,
    Answer,
    call,
    failed,
    finished,
    finishing,
    frame,
    interrupt,
    pausing,
    result,
    started,
)
from tests.waiting import until

PAST, FUTURE = "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"


def test_what_is_not_refused_passes_byte_for_byte(before: Before) -> None:
    body = b'{"threadId":"t","runId":"r","messages":[],"forwardedProps":{"z":1e400,"a":12345678901234567890, "n":null}}'
    said = b': hi\r\n\r\ndata: {"type":"BRAND_NEW","x":1.0}\n\nevent: x\ndata:{"type":"RUN_ERROR","message":""}'
    door = before(Answer([said], headers={"Content-Type": "text/event-stream; charset=utf-8", "X-Own": "kept"}))
    heard = door.send(body, authorization="Bearer secret")
    assert (heard.content, door.agent.posts[0].body) == (said, body)
    assert heard.headers["x-own"] == "kept" and door.agent.posts[0].headers["authorization"] == "Bearer secret"
    assert heard.headers["countersign-guard"] == "passed"


def test_a_stream_is_one_however_its_type_is_spelled(before: Before) -> None:
    pause = Answer([started(), call(), finished(interrupt())], headers={"Content-Type": "Text/Event-Stream"})
    door = before(pause, finishing())
    door.post("r-1")
    assert events(door.post("r-2", [answer()]))[-1]["type"] == "RUN_FINISHED"


def test_an_http_error_of_the_agent_passes_and_takes_nothing(before: Before) -> None:
    refused = Answer([b'{"no":1}'], status=403, headers={"Content-Type": "application/json"})
    door = before(pausing(), refused, finishing())
    door.post("r-1")
    assert (door.post("r-2", [answer()]).status_code, door.post("r-3", [answer(NO)]).status_code) == (403, 200)
    assert len(door.agent.posts) == 3


def test_each_condition_of_the_interrupts_page_is_refused_by_name(before: Before) -> None:
    two = pausing(interrupt("a"), interrupt("b"))
    door = before(two)
    door.post("r-1")
    assert door.code("r-2") == door.code("r-3", []) == "RESUME_REQUIRED"
    assert door.code("r-4", [answer(id_="a")]) == "PARTIAL_RESUME"
    assert door.code("r-5", [answer(id_="a"), answer(id_="b"), answer(id_="c")]) == "UNKNOWN_INTERRUPT"
    assert door.code("r-6", [answer(id_="a"), answer({"approved": "yes"}, "b")]) == "INVALID_PAYLOAD"
    assert door.code("r-7", [answer(id_="a"), {"interruptId": "b", "status": "resolved"}]) == "INVALID_PAYLOAD"
    assert door.code("r-8", [answer(id_="a"), answer(id_="b"), answer(id_="b")]) == "INVALID_RESUME"
    assert door.code("r-9", [{"interruptId": "a", "status": "done"}]) == "INVALID_RESUME"
    assert door.code("r-10", [answer(id_="a")], thread="t-2") == "UNKNOWN_INTERRUPT"
    assert len(door.agent.posts) == 1


def test_an_expired_question_can_be_cancelled_and_not_answered(before: Before) -> None:
    door = before(pausing(interrupt("late", expiresAt=PAST), interrupt("early", expiresAt=FUTURE)), finishing())
    door.post("r-1")
    assert door.code("r-2", [answer(id_="late"), answer(id_="early")]) == "INTERRUPT_EXPIRED"
    given = [{"interruptId": "late", "status": "cancelled"}, answer(id_="early")]
    assert events(door.post("r-3", given))[-1]["outcome"] == {"type": "success"}


def test_a_cancel_carries_no_answer(before: Before) -> None:
    """Neither its time nor its schema would be asked for."""
    door = before(pausing(), finishing())
    door.post("r-1")
    cancel = {"interruptId": "int-1", "status": "cancelled"}
    assert door.code("r-2", [{**cancel, "payload": YES}]) == "INVALID_PAYLOAD"
    assert events(door.post("r-3", [{**cancel, "payload": None}]))[-1]["type"] == "RUN_FINISHED"


@pytest.mark.parametrize("name", ["command", "Command"])
def test_an_answer_beside_the_resume_is_seen(before: Before, name: str) -> None:
    door = before(pausing())
    door.post("r-1")
    assert door.code("r-2", [answer()], forwardedProps={name: {"resume": YES}}) == "HIDDEN_ANSWER"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b'{"runId":"r","messages":[]}', b'{"threadId":"t","runId":"r","messages":[],"resume":{}}',
        b'{"threadId":"t","threadId":"u","runId":"r","messages":[]}', b'\xff{"threadId":"t"}',
        b'{"threadId":"t","thread_id":"u","runId":"r","messages":[]}',
        b'{"threadId":"t","runId":"r","messages":[],"forwardedProps":{"command":{"resume":1},"command":{}}}',
        *(
            b'{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"a","status":"cancelled",%s}]}' % more
            for more in (b'"interruptId":""', b'"interrupt_id":"b"', b'"status":"resolved"', b'"payload":1,"payload":2')
        ),
    ],
)  # fmt: skip
def test_what_two_readers_could_take_for_two_things_is_no_input(before: Before, body: bytes) -> None:
    door = before(finishing())
    assert door.send(body).status_code == 422 and door.agent.posts == []


def test_equal_answers_are_repeated_from_the_record_under_the_new_run_id(before: Before) -> None:
    said = [started(), result("12345678901234567890 paid \\u00e9"), finished()]
    door = before(pausing(), Answer(said), pausing())
    door.post("r-1")
    first = door.post("r-2", [answer({"approved": True}, metadata={"n": 1})])
    again = door.post("r-3", [{"payload": {"approved": True}, "status": "resolved", "interruptId": "int-1"}])
    assert again.text == first.text.replace("r-2", "r-3") and again.headers["countersign-guard"] == "replayed"
    assert door.post("r-2", [answer()]).content == first.content
    assert len(door.agent.posts) == 2


def test_another_answer_to_what_was_answered_is_refused(before: Before) -> None:
    door = before(pausing(), finishing())
    door.post("r-1"), door.post("r-2", [answer(YES)])
    assert door.code("r-3", [answer(NO)]) == "INTERRUPT_ALREADY_ANSWERED"
    assert door.code("r-4", [answer({"approved": 1.0})]) == "INTERRUPT_ALREADY_ANSWERED"
    assert len(door.agent.posts) == 2


def test_an_old_answer_is_never_taken_for_the_next_question(before: Before) -> None:
    """The LangGraph trap: the first resume again, after the agent has moved on to its second question."""
    door = before(pausing(interrupt("first")), pausing(interrupt("second")), finishing())
    door.post("r-1")
    first = door.post("r-2", [answer(id_="first")])
    assert events(door.post("r-3", [answer(id_="first")]))[-1] == {**events(first)[-1], "runId": "r-3"}
    assert len(door.agent.posts) == 2
    assert events(door.post("r-4", [answer(id_="second")]))[-1]["outcome"] == {"type": "success"}


def test_where_the_agent_uses_an_id_again_only_a_retry_is_told_from_a_new_answer(before: Before) -> None:
    door = before(pausing(), pausing(), finishing())
    door.post("r-1"), door.post("r-2", [answer()])
    assert events(door.post("r-3", [answer()]))[0]["runId"] == "r-3" and len(door.agent.posts) == 2
    assert door.code("r-4", [answer()], messages=[{"id": "m", "role": "user", "content": "?"}]) == "AMBIGUOUS_RESUME"
    assert events(door.post("r-5", [answer(NO)]))[-1]["outcome"] == {"type": "success"}


def test_two_equal_answers_at_once_are_one(before: Before) -> None:
    door = before(pausing(), Answer([started(), 0.3, result(), 0.3, finished()]))
    door.post("r-1")
    with ThreadPoolExecutor(4) as threads:
        heard = list(threads.map(lambda n: events(door.post(f"r-2{n}", [answer()])), range(4)))
    assert len(door.agent.posts) == 2
    assert [told[-1]["runId"] for told in heard] == [f"r-2{n}" for n in range(4)]


def test_a_frame_reaches_the_client_before_the_next_one_is_there(before: Before) -> None:
    first, second = Event(), Event()
    door = before(Answer([started(), first, b": wait\n\n", second, finished()]))
    with door.http.stream("POST", door.url + "/agent", content=json.dumps(asked("r-1"))) as stream:
        parts = stream.iter_raw()
        assert b"RUN_STARTED" in next(parts)
        first.set()
        assert next(parts) == b": wait\n\n"
        second.set()
        assert b"RUN_FINISHED" in b"".join(parts)


def test_another_input_waits_for_the_run_before_it_or_is_told_to_come_back(before: Before) -> None:
    tried = Event()
    door = before(Answer([started(), tried, finished()]), finishing(None), patience=0.2)
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(door.post, "r-1")
        until(lambda: door.agent.posts)
        busy = door.post("r-2")
        assert (busy.status_code, busy.headers["retry-after"]) == (429, "2")
        assert door.post("r-3", thread="t-2").status_code == 200
        tried.set()
        slow.result()
    assert len(door.agent.posts) == 2


def test_a_client_that_goes_away_loses_nothing(before: Before) -> None:
    gone = Event()
    door = before(pausing(), Answer([started(), gone, result(), finished()]))
    door.post("r-1")
    with door.http.stream("POST", door.url + "/agent", content=json.dumps(asked("r-2", [answer()]))) as stream:
        next(stream.iter_raw())
    gone.set()
    told = [event["type"] for event in events(door.post("r-3", [answer()]))]
    assert told == ["RUN_STARTED", "TOOL_CALL_RESULT", "RUN_FINISHED"]
    assert len(door.agent.posts) == 2


def test_a_broken_answer_stays_in_doubt_and_is_never_asked_for_again(before: Before) -> None:
    door = before(pausing(), Answer([started(), result(), frame(type="STEP")[:9], RESET]), finishing())
    door.post("r-1")
    broken = door.post("r-2", [answer()])
    assert "RUN_FINISHED" not in broken.text and "RUN_ERROR" not in broken.text
    told = events(door.post("r-3", [answer()]))
    assert [event["type"] for event in told] == ["RUN_STARTED", "TOOL_CALL_RESULT", "RUN_ERROR"]
    assert told[-1]["code"] == "RESUME_IN_DOUBT" and "indeterminate" in told[-1]["message"]
    assert door.code("r-4") == door.code("r-5", [answer(NO)]) == "RESUME_IN_DOUBT"
    assert len(door.agent.posts) == 2


@pytest.mark.parametrize("status", [500, 502, 504, 503])
def test_a_server_error_to_an_answer_is_doubt(before: Before, status: int) -> None:
    door = before(pausing(), Answer([b"oops"], status=status, headers={"Content-Type": "text/plain"}), finishing())
    door.post("r-1")
    assert door.post("r-2", [answer()]).status_code == status
    assert door.code("r-3", [answer()]) == "RESUME_IN_DOUBT" and len(door.agent.posts) == 2


def test_an_agent_that_is_away_has_taken_nothing(before: Before) -> None:
    door = before(pausing(), finishing())
    door.post("r-1")
    door.agent.down()
    assert door.post("r-2", [answer()]).json()["code"] == "agent_unreachable"
    door.agent.up()
    assert events(door.post("r-3", [answer()]))[-1]["outcome"] == {"type": "success"}


def test_a_refusal_of_the_agent_is_repeated_until_somebody_has_heard_it(
    before: Before, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, until_gone = Event(), app.until_gone

    async def noticed(receive: app.Receive) -> None:
        await until_gone(receive)
        gone.set()

    monkeypatch.setattr(app, "until_gone", noticed)
    door = before(pausing(), Answer([started(), gone, failed("try later", "BUSY")]), finishing())
    door.post("r-1")
    with door.http.stream("POST", door.url + "/agent", content=json.dumps(asked("r-2", [answer()]))) as stream:
        next(stream.iter_raw())
    assert events(door.post("r-3", [answer()]))[-1]["code"] == "BUSY" and len(door.agent.posts) == 2
    assert events(door.post("r-4", [answer()]))[-1]["outcome"] == {"type": "success"}


def test_a_run_that_failed_on_its_way_is_not_started_again(before: Before) -> None:
    door = before(pausing(), Answer([started(), result(), failed("disk full")]), finishing(None))
    door.post("r-1"), door.post("r-2", [answer()])
    assert events(door.post("r-3", [answer()]))[-1]["message"] == "disk full"
    assert door.code("r-4", [answer(NO)]) == "INTERRUPT_ALREADY_ANSWERED"
    assert events(door.post("r-5"))[-1]["outcome"] == {"type": "success"} and len(door.agent.posts) == 3


def test_several_questions_of_langgraph_are_answered_by_one_map(before: Before) -> None:
    door = before(pausing(interrupt("a"), interrupt("b"), calls=call()), finishing())
    door.post("r-1")
    assert door.code("r-2", [answer({"a": YES, "b": {"approved": 1}}, "a")]) == "INVALID_PAYLOAD"
    assert door.code("r-3", [answer({"a": YES}, "a")]) == "PARTIAL_RESUME"
    assert events(door.post("r-4", [answer({"a": YES, "b": NO}, "a")]))[-1]["outcome"] == {"type": "success"}


def test_nobody_walks_around_it_by_another_path(before: Before) -> None:
    door = before(finishing())
    sent = json.dumps(asked("r-1")).encode()
    assert door.send(sent, "/legacy/agent").status_code == 404 and door.send(sent, "/agent/x").status_code == 404
    assert door.http.get(door.url + "/agent").status_code == 405
    assert door.send(sent, "/").status_code == door.send(sent, "/agent/").status_code == 200
    assert len(door.agent.posts) == 2


def test_what_cannot_be_recorded_is_not_passed_on(before: Before, monkeypatch: pytest.MonkeyPatch) -> None:
    door = before(pausing(), finishing())
    door.post("r-1")
    with monkeypatch.context() as disk:
        disk.setattr(Journal, "begin", full)
        assert (door.post("r-2", [answer()]).status_code, len(door.agent.posts)) == (503, 1)
    assert events(door.post("r-3", [answer()]))[-1]["outcome"] == {"type": "success"}


def test_an_end_that_cannot_be_written_down_is_written_before_anything_else_is_judged(
    before: Before, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = before(pausing(), finishing())
    with monkeypatch.context() as disk:
        disk.setattr(Journal, "conclude", full)
        assert events(door.post("r-1"))[-1]["outcome"]["type"] == "interrupt"
        assert (door.post("r-2", [answer()]).status_code, len(door.agent.posts)) == (503, 1)
    assert events(door.post("r-3", [answer()]))[-1]["outcome"] == {"type": "success"}


def test_an_answer_cut_off_by_a_full_disk_is_a_doubt_that_its_owner_can_settle(
    before: Before, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = before(pausing(), finishing())
    door.post("r-1")
    with monkeypatch.context() as disk:
        disk.setattr(Journal, "append", full)
        disk.setattr(Journal, "conclude", full)
        door.post("r-2", [answer()])
    assert door.code("r-3", [answer()]) == "RESUME_IN_DOUBT" and len(door.agent.posts) == 2
    assert door.http.get(door.url + "/healthz").json()["inDoubt"] == 1


def test_what_could_not_be_written_down_is_written_as_soon_as_it_can_be(
    before: Before, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = before(pausing(), Answer([started(), RESET]), pausing())
    door.post("r-1")
    with monkeypatch.context() as disk:
        disk.setattr(Journal, "conclude", full)
        door.post("r-2", [answer()]), door.post("r-3", thread="t-2")
        assert door.http.get(door.url + "/healthz").json()["inDoubt"] == 0
    until(lambda: door.http.get(door.url + "/healthz").json()["inDoubt"] == 1, "an end written without a caller")
    assert door.code("r-4", [answer(id_="int-9")], thread="t-2") == "UNKNOWN_INTERRUPT"


def test_what_cannot_be_tidied_breaks_nobody_s_stream(before: Before, monkeypatch: pytest.MonkeyPatch) -> None:
    door = before(pausing(), finishing())
    for deed in ("hear", "drop_parts", "prune"):
        monkeypatch.setattr(Journal, deed, full)
    door.post("r-1")
    assert events(door.post("r-2", [answer()]))[-1]["outcome"] == {"type": "success"}
    assert events(door.post("r-3", [answer()]))[-1]["outcome"] == {"type": "success"} and len(door.agent.posts) == 2


def test_a_page_in_place_of_a_stream_is_a_doubt_that_can_be_read(before: Before) -> None:
    page = Answer([b"<html>data: no\n\n</html>"], headers={"Content-Type": "text/html"})
    door = before(pausing(), page, finishing())
    door.post("r-1")
    assert door.post("r-2", [answer()]).headers["content-type"] == "text/html"
    assert events(door.post("r-3", [answer()]))[-1]["code"] == "RESUME_IN_DOUBT" and len(door.agent.posts) == 2


def test_a_thousand_questions_are_answered_at_once(before: Before) -> None:
    ids = [f"int-{n}" for n in range(1000)]
    door = before(pausing(*map(interrupt, ids), calls=call()), finishing())
    door.post("r-1")
    answers = [answer(YES, id_) for id_ in reversed(ids)]
    assert door.code("r-2", answers[1:]) == "PARTIAL_RESUME"
    assert events(door.post("r-3", answers))[-1]["outcome"] == {"type": "success"}
    assert events(door.post("r-4", answers[::-1]))[-1]["outcome"] == {"type": "success"} and len(door.agent.posts) == 2


def test_health_counts_what_waits_for_the_owner(before: Before) -> None:
    door = before(pausing(), Answer([started(), RESET]))
    door.post("r-1"), door.post("r-2", [answer()])
    assert door.http.get(door.url + "/healthz").json() == {"ok": True, "running": 0, "inDoubt": 1}

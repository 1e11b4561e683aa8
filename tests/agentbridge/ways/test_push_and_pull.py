"""Agents that nobody can call: their hosts hand in runs and fetch what they are owed, each exactly once."""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import httpx
import pytest

from agentbridge.delivery import settling
from agentbridge.models import Agent, Resume, Run
from agentbridge.runs import recorder
from agentbridge.ways import pull
from agentbridge.ways import push as pushing
from agentbridge.work import sweeping
from approvals.models import Case, User
from tests.agentbridge.ways.desk import Json, Outside, asked, outside
from tests.bridge_work import work
from tests.people import decide, in_seconds, only_task
from tests.scripted_agent import call, finished, interrupt, result, started
from tests.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)
SSE = "text/event-stream"


def as_run(stream: bytes, run_id: str = "run-1", thread_id: str = "thread-1") -> bytes:
    return stream.replace(b"__THREAD__", thread_id.encode()).replace(b"__RUN__", run_id.encode())


def events(stream: bytes) -> list[Json]:
    return [json.loads(line[6:]) for line in stream.splitlines() if line.startswith(b"data: ")]


PAUSE = as_run(started() + call() + finished(interrupt()))
DOCUMENT: Json = {"input": asked(), "events": events(PAUSE)}


@pytest.fixture
def host(web: str, alice: User) -> Outside:
    return outside(web)


@pytest.fixture
def approved(host: Outside, alice: User) -> Outside:
    """A pushed pause, answered and sealed."""
    assert host.push(DOCUMENT).status_code == 200
    decide(only_task(Case.objects.get()), alice)
    work()
    return host


def delivery() -> Resume:
    return Resume.objects.get(replaced_at=None)


def answers(fetched: Json, *more: bytes) -> bytes:
    return as_run(started() + b"".join(more or (result(), finished())), fetched["runId"])


def test_a_pushed_pause_is_a_case_and_its_run_says_which_way_it_came(host: Outside) -> None:
    answer = host.push(DOCUMENT)
    run = Run.objects.get()
    assert answer.status_code == 200 and answer.json()["runId"] == "run-1"
    assert (run.way, run.status, Case.objects.get().state) == ("push", "interrupted", "open")
    assert json.loads(bytes(run.input)) == asked()


def test_a_stream_is_pushed_as_it_was(host: Outside) -> None:
    began = json.dumps({"type": "RUN_STARTED", "threadId": "thread-1", "runId": "run-1", "input": asked()}).encode()
    stream = b": hi\r\n\r\ndata: " + began + b"\r\n\r\n" + as_run(call() + finished(interrupt()))
    assert host.push(stream, SSE).status_code == 200
    assert pushing.stored(Run.objects.get()) == stream and Case.objects.exists()


def test_the_same_bytes_again_change_nothing_and_others_are_refused(host: Outside) -> None:
    assert [host.push(DOCUMENT).status_code for _ in range(2)] == [200, 200]
    other = {**DOCUMENT, "events": DOCUMENT["events"][:-1]}
    assert host.push(other).status_code == 409
    assert (Case.objects.count(), Run.objects.count()) == (1, 1)


def test_the_same_events_with_another_input_are_other_bytes(host: Outside) -> None:
    other = {**DOCUMENT, "input": asked(state={"paid": True})}
    assert [host.push(each).status_code for each in (DOCUMENT, other, DOCUMENT)] == [200, 409, 200]
    assert json.loads(bytes(Run.objects.get().input)) == asked()


def test_two_hosts_that_push_the_same_at_once_make_one_run(host: Outside) -> None:
    codes: list[int] = []
    crowd = [threading.Thread(target=lambda: codes.append(host.push(DOCUMENT).status_code)) for _ in range(4)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert codes == [200] * 4 and Case.objects.count() == 1


def test_a_push_that_was_cut_off_by_a_crash_is_finished_by_the_next(host: Outside, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pushing, "understand", lambda run, *, now: None)
        host.push(DOCUMENT)
    assert not Case.objects.exists()
    assert host.push(DOCUMENT).status_code == 200 and Case.objects.count() == 1


def test_a_push_that_was_cut_off_is_found_by_the_sweep_too(host: Outside, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pushing, "understand", lambda run, *, now: None)
        host.push(DOCUMENT)
    sweeping.sweep(in_seconds(60))
    assert Case.objects.get().state == "open" and Run.objects.get().status == "interrupted"


def test_h1_an_agent_that_tells_the_thread_again_pushes_the_run_that_was_asked_for(approved: Outside) -> None:
    fetched = approved.owed()[0]
    unasked = as_run(started() + finished(), "own")
    told = PAUSE + answers(fetched) + unasked
    assert [approved.push(told, SSE).status_code for _ in range(2)] == [200, 200]
    run = Run.objects.get(kind="resumed")
    assert (delivery().state, run.status, pushing.stored(run)) == ("finished", "succeeded", told)


def test_an_answer_is_fetched_once_and_its_run_ends_the_delivery(approved: Outside) -> None:
    fetched = approved.owed()
    assert [one["resume"] for one in fetched] == [
        [{"interruptId": "int-1", "status": "resolved", "payload": {"approved": True}}]
    ]
    assert delivery().state == "armed" and approved.owed() == []
    assert approved.push(answers(fetched[0]), SSE).status_code == 200
    case = Case.objects.get()
    assert (delivery().state, case.state) == ("finished", "delivered")
    assert json.loads(only_task(case).results)[0]["text"] == "paid"


def test_what_is_fetched_keeps_its_bytes(approved: Outside) -> None:
    answer = httpx.get(approved.address("/resumes"), headers=approved.headers("host"))
    run = Run.objects.get(kind="resumed")
    assert answer.content == b'{"resumes":[' + bytes(run.input) + b"]}"
    assert bytes(delivery().entries) in answer.content


def test_two_that_fetch_at_once_get_it_once(approved: Outside) -> None:
    got: list[Json] = []
    crowd = [threading.Thread(target=lambda: got.extend(approved.owed(wait=0.5))) for _ in range(5)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert len(got) == 1 and Run.objects.filter(kind="resumed").count() == 1


def test_a_host_waits_in_so_many_requests_and_no_more(host: Outside, settings: Any, monkeypatch: Any) -> None:
    settings.HOST_WAITS = 1
    decided, looked = threading.Event(), threading.Event()
    monkeypatch.setattr(pull, "hand_out", lambda _agent: looked.set() or [b"{}"] * decided.is_set())
    waiting = threading.Thread(target=host.owed, args=[60])
    waiting.start()
    assert looked.wait(PATIENCE)
    late = httpx.get(host.address("/resumes?wait=5"), headers=host.headers("host"), timeout=PATIENCE)
    assert (late.status_code, late.json()["code"], late.headers["retry-after"]) == (429, "too_many", "5")
    assert host.owed() == []
    decided.set()
    waiting.join()
    assert host.owed(5) == [{}]


def test_all_hosts_together_wait_in_so_many_requests(settings: Any) -> None:
    settings.HOST_WAITS, settings.HOST_WAITS_IN_ALL = 2, 3
    waits, agents = pull.Waits(), [Agent(pk=n) for n in range(3)]
    with ExitStack() as stack:
        for agent in (agents[0], agents[0], agents[1]):
            stack.enter_context(waits.another(agent))
        for agent in agents:
            with pytest.raises(pull.Crowded):
                stack.enter_context(waits.another(agent))
    with waits.another(agents[2]):
        pass


def test_a_fetch_waits_for_the_decision(host: Outside, alice: User) -> None:
    host.push(DOCUMENT)
    got: list[Json] = []
    waiting = threading.Thread(target=lambda: got.extend(host.owed(wait=60)))
    waiting.start()
    decide(only_task(Case.objects.get()), alice)
    work()
    waiting.join()
    assert [one["threadId"] for one in got] == ["thread-1"]


@pytest.mark.parametrize("replay", ["unknown", "guarded"])
def test_without_a_run_within_a_minute_it_is_in_doubt_and_stays_so(approved: Outside, replay: str) -> None:
    Agent.objects.update(replay_class=replay)
    approved.owed()
    end = delivery().lease_until
    assert end <= in_seconds(60)
    sweeping.sweep(end - timedelta(seconds=1))
    assert delivery().state == "armed"
    sweeping.sweep(end + timedelta(seconds=1))
    assert delivery().state == "in_doubt"
    assert approved.owed() == []


def test_a_run_that_comes_late_ends_the_doubt(approved: Outside) -> None:
    fetched = approved.owed()
    sweeping.sweep(in_seconds(61))
    assert approved.push(answers(fetched[0]), SSE).status_code == 200
    assert delivery().state == "finished"


def other(fetched: Json) -> Json:
    return {**fetched, "resume": [{**fetched["resume"][0], "payload": {"approved": False}}]}


def test_a_run_with_other_answers_than_were_handed_out_delivers_nothing(approved: Outside) -> None:
    fetched = approved.owed()[0]
    told = {"input": other(fetched), "events": events(answers(fetched))}
    assert [approved.push(told).status_code for _ in range(2)] == [200, 200]
    run = Run.objects.get(kind="resumed")
    assert (delivery().state, run.status, Case.objects.get().state) == ("in_doubt", "rejected", "settled")
    assert "other answers" in delivery().note and run.chunks.exists() and only_task(Case.objects.get()).results is None


@pytest.mark.parametrize("answered_first", [True, False])
def test_the_same_events_with_other_answers_are_other_bytes(approved: Outside, answered_first: bool) -> None:
    fetched = approved.owed()[0]
    both = [{"input": each, "events": events(answers(fetched))} for each in (fetched, other(fetched))]
    first, second = both if answered_first else reversed(both)
    assert [approved.push(each).status_code for each in (first, second, first)] == [200, 409, 200]
    assert delivery().state == ("finished" if answered_first else "in_doubt")


def test_an_echo_of_other_answers_counts_as_much(approved: Outside) -> None:
    fetched = approved.owed()[0]
    began = {"type": "RUN_STARTED", "threadId": "thread-1", "runId": fetched["runId"], "input": other(fetched)}
    stream = b"data: " + json.dumps(began).encode() + b"\n\n" + as_run(result() + finished(), fetched["runId"])
    approved.push(stream, SSE)
    assert delivery().state == "in_doubt"


def test_the_answers_themselves_may_be_written_otherwise(approved: Outside) -> None:
    fetched = approved.owed()[0]
    entry = dict(reversed(fetched["resume"][0].items()))
    told = {"input": {**fetched, "resume": [entry], "state": None}, "events": events(answers(fetched))}
    assert approved.push(told).status_code == 200 and delivery().state == "finished"


def test_a_host_that_answers_under_an_id_of_its_own_waits_for_what_it_fetched(approved: Outside) -> None:
    fetched = approved.owed()[0]
    own = {"input": {**other(fetched), "runId": "own"}, "events": events(as_run(started() + finished(), "own"))}
    assert approved.push(own).json()["code"] == "thread_busy" and delivery().state == "armed"


def test_a_broken_off_run_of_an_answer_waits_for_a_person(approved: Outside) -> None:
    Agent.objects.update(replay_class="guarded")
    fetched = approved.owed()
    approved.push(answers(fetched[0], call()), SSE)
    assert delivery().state == "outcome_unknown" and approved.owed() == []


def test_a_person_may_have_it_handed_out_once_more(approved: Outside, olga: User) -> None:
    first = approved.owed()[0]
    sweeping.sweep(in_seconds(61))
    settling.resolve_doubt(Case.objects.get(), action="resend", by=olga, reason="It never came", now=in_seconds(0))
    second = approved.owed()[0]
    assert first["resume"] == second["resume"] and first["runId"] != second["runId"]


def test_a_pause_after_the_answer_is_fetched_the_same_way(approved: Outside, alice: User) -> None:
    fetched = approved.owed()[0]
    again = interrupt("int-2", "tc-2")
    approved.push(answers(fetched, result(), call(id_="tc-2"), finished(again)), SSE)
    decide(only_task(Case.objects.latest("pk")), alice)
    work()
    assert [one["resume"][0]["interruptId"] for one in approved.owed()] == ["int-2"]


def test_the_bridge_calls_no_agent_that_fetches(approved: Outside) -> None:
    work()
    assert delivery().state == "ready" and not Run.objects.filter(kind="resumed").exists()


@pytest.mark.parametrize(
    ("body", "kind", "pointer"),
    [
        (b"{", "application/json", ""),
        (b'{"events":[]}', "application/json", "/input"),
        (b'{"input":{"threadId":"t"},"events":[]}', "application/json", "/runId"),
        (b"data: {}\n\n", SSE, ""),
        (PAUSE, SSE, "/input"),
    ],
)
def test_what_is_no_run_is_refused_and_leaves_nothing(host: Outside, body: bytes, kind: str, pointer: str) -> None:
    answer = host.push(body, kind)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)
    assert not Run.objects.exists()


def test_only_the_hosts_token_pushes_and_fetches(host: Outside) -> None:
    headers = host.headers("caller")
    assert httpx.post(host.address("/push"), json=DOCUMENT, headers=headers).status_code == 401
    assert httpx.get(host.address("/resumes"), headers=headers).status_code == 401


def test_numbers_and_order_survive_a_push(host: Outside) -> None:
    told = b'[{"type":"NEW",\r\n "n":1.50,"a":12345678901234567890}]'
    body = b'{"input":' + json.dumps(asked()).encode() + b',"events":' + told + b"}"
    host.push(body)
    assert b'"n":1.50,"a":12345678901234567890' in pushing.stored(Run.objects.get())
    assert recorder.input_of(Run.objects.get()) is not None

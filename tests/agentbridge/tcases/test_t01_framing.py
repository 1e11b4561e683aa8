"""T-1 to T-15: transport and framing."""

from __future__ import annotations

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from agentbridge.models import Run
from agentbridge.wire.reading import Reader
from agentbridge.wire.record import Limits
from approvals.models import Case, User
from tests.agentbridge.recordings import Tape, warned
from tests.agentbridge.streams import STARTED, Told, body, call, event, finished, paused, read
from tests.bridge_work import Script, ask, delivery, paused_case, register, work
from tests.people import decide, only_task
from tests.scripted_agent import RESET, Answer, finishing, pausing

PAUSE = [STARTED, *call('{"note":"', '결재 🚀"}'), paused()]


def told_of(*chunks: bytes, **options: Any) -> Told:
    reader = Reader(thread_id="t", run_id="r", run_input=None, **options)
    return Told(reader, [fact for chunk in chunks for fact in reader.feed(chunk)] + reader.close())


@pytest.fixture
def tape(payments: Any, alice: User) -> Tape:
    return Tape(payments, alice)


def test_t1_a_character_cut_between_two_chunks_is_whole() -> None:
    raw = "".join(f"data: {json.dumps(one, ensure_ascii=False)}\n\n" for one in PAUSE).encode()
    for cut in (raw.index("🚀".encode()) + 1, raw.index("결".encode()) + 2):
        assert told_of(raw[:cut], raw[cut:]).run.calls["tc-1"].args == '{"note":"결재 🚀"}'


def test_t2_one_event_over_three_data_lines_is_one_event() -> None:
    raw = body(PAUSE).replace(b'", "toolCallName"', b'",\ndata: "toolCallName"').replace(b': "pay"', b':\ndata:"pay"')
    told = told_of(raw)
    assert (told.run.calls["tc-1"].name, told.reader.events, told.run.warnings) == ("pay", len(PAUSE), [])


@pytest.mark.parametrize("ends", [[b"\r\n"], [b"\r"], [b"\n", b"\r\n", b"\r"]])
def test_t3_other_line_ends_read_the_same(ends: list[bytes]) -> None:
    lines = body(PAUSE).split(b"\n")
    raw = b"".join(line + ends[n // 2 % len(ends)] for n, line in enumerate(lines))
    told, usual = told_of(*[raw[n : n + 1] for n in range(len(raw))]), told_of(body(PAUSE))
    assert (told.facts, told.run) == (usual.facts, usual.run)


def test_t4_comments_are_no_events_but_count_as_life() -> None:
    raw = b": hello\n\n" + body(PAUSE).replace(b"\n\n", b"\n\n: keepalive\n\n")
    told = told_of(raw)
    assert (told.reader.events, told.reader.comments) == (len(PAUSE), 1 + len(PAUSE))
    assert (told.run.status, told.run.warnings) == ("interrupted", [])


@pytest.mark.django_db(transaction=True)
def test_t4_an_agent_that_only_comments_for_longer_than_the_idle_time_is_waited_for(
    script: Script, alice: User, settings: Any
) -> None:
    settings.IDLE_SECONDS = settings.FIRST_EVENT_SECONDS = 8
    agent = script(Answer([*[b": ping\n\n", 0.5] * 18, *pausing().parts]))
    assert paused_case(register(agent), alice).state == "open"


@pytest.mark.django_db(transaction=True)
def test_t5_event_id_and_retry_are_ignored_and_never_sent_back(script: Script, alice: User) -> None:
    marked = [b"event: message\nid: 7\nretry: 1\n" + part for part in pausing().parts if isinstance(part, bytes)]
    agent = script(Answer([part.replace(b"\n\ndata", b"\n\nid: 8\ndata") for part in marked]), finishing())
    decide(only_task(paused_case(register(agent), alice)), alice)
    work()
    assert len(agent.resumes) == 1
    assert not any("last-event-id" in post.headers for post in agent.posts)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("kind", "status"), [("text/event-stream; charset=utf-8", "interrupted"), ("application/json", "truncated")]
)
def test_t6_what_is_called_a_stream_is_read_and_json_is_kept_and_no_stream(
    script: Script, alice: User, kind: str, status: str
) -> None:
    parts = pausing().parts if status == "interrupted" else [b'{"detail":"not here"}']
    ask(register(script(Answer(parts, headers={"Content-Type": kind}))), alice)
    work()
    run = Run.objects.get()
    assert run.status == status
    kept = b"".join(bytes(chunk.data) for chunk in run.chunks.order_by("n"))
    assert (b"not here" in kept, "application/json" in run.error) == ((status == "truncated",) * 2)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("sent", "more", "said"),
    [
        (gzip.compress(body(PAUSE), mtime=0), {"Content-Encoding": "gzip"}, "The answer is compressed (gzip)"),
        (body(PAUSE).decode().encode("utf-16"), {}, "Not one event could be read in"),
    ],
)
def test_a3_bytes_in_which_no_event_is_found_end_in_a_sentence(
    script: Script, alice: User, sent: bytes, more: dict[str, str], said: str
) -> None:
    ask(register(script(Answer([sent], headers={"Content-Type": "text/event-stream", **more}))), alice)
    work()
    run = Run.objects.get()
    assert (run.status, run.error.startswith(said), Case.objects.exists()) == ("truncated", True, False)


@pytest.mark.parametrize("frame", ["{} {}", '[{"type":"RUN_ERROR","message":"x"}]'])
def test_t7_two_objects_or_a_list_in_a_frame_are_no_event_and_said(frame: str) -> None:
    told = read(STARTED, frame, *call("{}"), paused())
    assert (told.run.status, told.found()) == ("interrupted", [("C-29b", "after 1")])


def test_t8_a_last_frame_without_its_blank_line_counts_and_is_noted() -> None:
    told = told_of(body(PAUSE).rstrip(b"\n"))
    assert (told.run.status, [rule for rule, _ in told.found("info")]) == ("interrupted", ["A.3"])


def test_t9_half_a_last_frame_is_no_outcome() -> None:
    told = told_of(body(PAUSE)[:-20])
    assert (told.run.status, told.run.outcome, told.run.interrupts) == ("truncated", "", [])


@pytest.mark.django_db
def test_t10_a_body_that_ends_after_a_call_is_truncated_and_the_call_stays(tape: Tape) -> None:
    run = tape.record(*[part for part in pausing().parts[:2] if isinstance(part, bytes)])
    assert (run.status, run.outcome, Case.objects.exists()) == ("truncated", "", False)
    assert run.tool_calls.get().state == "complete"


@pytest.mark.django_db(transaction=True)
def test_t11_a_reset_after_the_whole_pause_leaves_it_valid(script: Script, alice: User) -> None:
    agent = script(Answer([*pausing().parts, 0.2, RESET]))
    assert paused_case(register(agent), alice).state == "open"
    assert Run.objects.get().status == "interrupted"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("status", [401, 409, 422])
def test_t12_a_refusal_by_http_is_no_failure_and_the_questions_stay_answered(
    script: Script, alice: User, status: int
) -> None:
    agent = script(pausing(), Answer([b"no"], status=status, headers={}))
    case = paused_case(register(agent), alice)
    decide(only_task(case), alice)
    work()
    case.refresh_from_db()
    assert (delivery(case).state, delivery(case).answer_class, case.state) == ("rejected", "A", "settled")
    assert Run.objects.latest("pk").status == "refused"


@pytest.mark.django_db(transaction=True)
def test_t13_accept_names_what_we_can_read_and_nothing_else(script: Script, alice: User) -> None:
    agent = script(pausing())
    paused_case(register(agent), alice)
    assert agent.posts[0].headers["accept"] == "text/event-stream"


@pytest.mark.django_db
def test_t14_a_frame_over_the_cap_ends_the_reading_and_earlier_events_stay(tape: Tape, settings: Any) -> None:
    settings.FRAME_LIMIT = 10_000
    parts = [part for part in pausing().parts if isinstance(part, bytes)]
    run = tape.record(*parts[:2], b'data: {"type":"RAW","event":"' + b"x" * 12_000, parts[2])
    assert (run.status, run.tool_calls.get().state) == ("truncated", "complete")
    assert "10000 bytes" in run.error


def test_t14_the_limit_on_the_whole_stream_says_so_too() -> None:
    raw = [body([one]) for one in [STARTED, *[event("RAW", event="x" * 90)] * 9, finished()]]
    told = told_of(*raw, limits=Limits(stream=500))
    assert (told.facts[-1], "500 bytes" in (told.run.cut or "")) == ("Cut", True)


@pytest.mark.django_db(transaction=True)
def test_t15_a_browser_that_leaves_stops_no_recording(script: Script, alice: User, client: Any) -> None:
    client.force_login(alice)
    seen: list[int] = []

    def look_and_leave() -> None:
        seen.append(client.get("/queue/").status_code)
        client.logout()
        connection.close()

    def in_a_browser() -> None:
        ThreadPoolExecutor(1).submit(look_and_leave).result()

    parts = pausing().parts
    case = paused_case(register(script(Answer([parts[0], in_a_browser, *parts[1:]]))), alice)
    assert (seen, case.state, warned(Run.objects.get())) == ([200], "open", {})

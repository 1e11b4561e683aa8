"""T-16 to T-30: unknown, malformed and hostile values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from agentbridge.models import Interrupt
from approvals import exhibits, jsontext, schemas
from approvals.models import Case, User
from tests.agentbridge.recordings import Tape, case_of, kit_of, slugs, warned
from tests.agentbridge.streams import ASK, STARTED, call, event, finished, paused, read
from tests.people import decide
from tests.scripted_agent import call as called
from tests.scripted_agent import finished as ended
from tests.scripted_agent import frame, interrupt, started


@pytest.fixture
def tape(payments: Any, alice: User) -> Tape:
    return Tape(payments, alice)


def raw(**event: Any) -> bytes:
    """One frame whose values may be texts of JSON, put in as they are."""
    members = ",".join(f'"{name}":{text}' for name, text in event.items())
    return f"data: {{{members}}}\n\n".encode()


def outcome(*interrupts: str) -> bytes:
    told = f'{{"type":"interrupt","interrupts":[{",".join(interrupts)}]}}'
    return raw(type='"RUN_FINISHED"', threadId='"__THREAD__"', runId='"__RUN__"', outcome=told)


@pytest.mark.django_db
def test_t16_an_unknown_event_is_left_out_with_one_warning_and_kept_raw(tape: Tape) -> None:
    run = tape.record(started(), frame(type="SOMETHING_NEW", x=1), called(), ended(interrupt()))
    assert (case_of(run).state, warned(run)) == ("open", {"C-2": "2 SOMETHING_NEW"})
    assert b"SOMETHING_NEW" in b"".join(bytes(chunk.data) for chunk in run.chunks.all())


@pytest.mark.django_db
def test_t17_unknown_property_on_an_interrupt_is_stripped(tape: Tape) -> None:
    run = tape.record(started(), called(), ended(interrupt(priority="high")))
    assert warned(run) == {"C-2": "5 RUN_FINISHED /outcome/interrupts/0/priority"}
    assert (case_of(run).state, '"priority":"high"' in Interrupt.objects.get().raw) == ("open", True)


@pytest.mark.django_db
def test_t18_an_error_with_ids_surfaces_like_any_other(tape: Tape) -> None:
    run = tape.record(started(), frame(type="RUN_ERROR", message="no luck", code="E1", threadId="t", runId="r"))
    assert (run.status, run.error, run.error_code) == ("failed", "no luck", "E1")


@pytest.mark.parametrize(
    ("interrupts", "rejected"),
    [
        ([], True),
        ([{"id": "a"}], False),
        ([{"id": 7, "reason": "x"}], False),
        ([{**ASK, "responseSchema": True}], False),
        ([{**ASK, "expiresAt": 123}], False),
        ([7], False),
    ],
)
def test_t19_malformed_members_are_listed_and_only_no_list_at_all_rejects(interrupts: Any, rejected: bool) -> None:
    told = read(STARTED, finished({"type": "interrupt", "interrupts": interrupts}))
    assert (told.run.status == "rejected", told.run.status == "interrupted") == (rejected, not rejected)
    assert all(each.problems for each in told.run.interrupts)
    assert {rule for rule, _ in told.found()} == {"C-29b"}


@pytest.mark.django_db
def test_t19_without_a_usable_id_the_question_is_seen_and_cannot_be_answered(tape: Tape) -> None:
    case = case_of(tape.record(started(), called(), ended({"id": 7, "reason": "tool_call"})))
    assert "no usable id" in case.blocked
    assert "malformed-interrupt" in slugs(case.tasks.get())


@pytest.mark.django_db
@pytest.mark.parametrize("said", ['"interrupt"', '[{"id":"a"}]', "7"])
def test_t20_a_draft_outcome_rejects_and_is_no_success(tape: Tape, said: str) -> None:
    run = tape.record(
        started(), raw(type='"RUN_FINISHED"', threadId='"__THREAD__"', runId='"__RUN__"', outcome=said,
                       interrupts='[{"id":"a","reason":"x"}]'),
    )  # fmt: skip
    assert (run.status, Case.objects.exists()) == ("rejected", False)


@pytest.mark.django_db
def test_t21_an_unknown_outcome_is_an_unknown_ending(tape: Tape) -> None:
    run = tape.record(started(), raw(type='"RUN_FINISHED"', outcome='{"type":"paused"}'))
    assert (run.status, run.outcome, Case.objects.exists()) == ("unknown", "unknown", False)


@pytest.mark.django_db
def test_t22_a_success_with_interrupts_asks_nothing_and_says_so_loudly(tape: Tape) -> None:
    run = tape.record(started(), raw(type='"RUN_FINISHED"', outcome='{"type":"success","interrupts":[{"id":"a"}]}'))
    loud = [each for each in jsontext.loads(run.warnings) if each["severity"] == "error"]
    assert (run.status, [each["rule"] for each in loud], Case.objects.exists()) == ("succeeded", ["G-3"], False)


@pytest.mark.parametrize(
    ("events", "where"),
    [
        ([STARTED, finished(outcome=None) | {"outcome": None}], "2 RUN_FINISHED /outcome"),
        ([{**STARTED, "parentRunId": None}, finished()], "1 RUN_STARTED /parentRunId"),
        ([{**STARTED, "metadata": None}, finished()], "1 RUN_STARTED /metadata"),
    ],
)
def test_t23_null_in_an_optional_place_reads_as_absent_and_is_noted(events: Any, where: str) -> None:
    told = read(*events)
    assert (told.run.status, told.found("info")) == ("succeeded", [("C-29b", where)])


def test_t24_null_inside_open_values_is_data() -> None:
    told = read(
        STARTED, event("STATE_SNAPSHOT", snapshot=None), event("CUSTOM", name="n", value=None),
        paused({**ASK, "metadata": {"x": None}}),
    )  # fmt: skip
    assert (told.run.state, told.run.customs[0].value) == ("null", "null")
    assert (told.run.interrupts[0].metadata, told.run.warnings) == ('{"x": null}', [])


def test_t25_order_is_that_of_arrival_whatever_the_timestamps_say() -> None:
    events = [{**one, "timestamp": 9 - n} for n, one in enumerate([STARTED, *call('{"a":', "1}"), paused()])]
    assert read(*events).run.calls["tc-1"].args == '{"a":1}'
    told = read({**STARTED, "timestamp": "noon"}, paused())
    assert (told.run.status, told.found()) == ("interrupted", [("C-3", "1 RUN_STARTED /timestamp")])


@pytest.mark.django_db
def test_t26_two_interrupts_with_one_id_are_both_shown_and_flagged(tape: Tape) -> None:
    calls = called() + called("ship", id_="tc-2")
    run = tape.record(started(), calls, ended(interrupt(), interrupt("int-1", "tc-2")))
    case = case_of(run)
    assert [case.tasks.count(), *[each["slug"] for each in case.flags]] == [2, "duplicate-interrupt-id"]
    assert warned(run) == {"C-34": "8 RUN_FINISHED /outcome"}


ODD = r'{"n":9007199254740993,"e":1e400,"z":-0,"d":1,"d":2,"nul":"\u0000","half":"\ud800"}'


@pytest.mark.django_db
def test_t27_odd_numbers_names_and_characters_are_kept_byte_for_byte(tape: Tape, alice: User) -> None:
    task = tape.task(started(), called(args=ODD), ended(interrupt()))
    shown = exhibits.load(task.exhibits.get().body)
    assert (shown.tool.args_text, "duplicate-keys" in slugs(task)) == (ODD, True)
    assert decide(task, alice).answer == '{"approved":true}'


def test_t27_nan_is_no_json_and_the_frame_is_said_to_be_unreadable() -> None:
    told = read(STARTED, '{"type":"STATE_SNAPSHOT","snapshot":NaN}', finished())
    assert (told.run.state, told.found("error")) == ('{"n":1.0}', [("C-29b", "after 1")])


@pytest.mark.django_db
def test_t28_arguments_that_are_no_json_are_text_that_nobody_can_edit(tape: Tape) -> None:
    task = tape.task(started(), called(args='{"a":1'), ended(interrupt()))
    assert exhibits.load(task.exhibits.get().body).tool.state == "invalid"
    assert ("arguments-unreadable" in slugs(task), kit_of(task).can_edit) == (True, False)


@pytest.mark.django_db
def test_t29_markup_and_hidden_characters_are_inert_and_marked(tape: Tape, alice: User, client: Client) -> None:
    text = "<script>alert(1)</script>[x](javascript:alert(1))\x1b[31m\u202egnp"
    task = tape.task(started(), called(text, args=json.dumps({"a": text})), ended(interrupt(message=text)))
    client.force_login(alice)
    page = client.get(f"/cases/{task.case.code}/").content.decode()
    assert ("<script>alert" in page, 'href="javascript' in page, "\u202e" in page, "\x1b" in page) == (False,) * 4
    assert "&lt;script&gt;alert" in page
    assert "hidden-or-look-alike-characters" in slugs(task)


HOSTILE = [
    ('{"$ref":"https://example.org/schema.json"}', False),
    ('{"not":' * 10_000 + "{}" + "}" * 10_000, False),
    ('{"$schema":"https://example.org/dialect","type":"object"}', True),
    ('{"type":"object","properties":{"a":{"type":"string","pattern":"(a+)+$"}}}', True),
    ('{"type":"string","enum":["yes","no"]}', True),
    ('{"allOf":[{"type":"string"},{"type":"number"}]}', True),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("schema", "usable"), HOSTILE, ids=["ref", "deep", "dialect", "pattern", "string", "nothing"])
def test_t30_a_hostile_schema_costs_no_fetch_no_time_and_no_task(
    tape: Tape, alice: User, client: Client, schema: str, usable: bool
) -> None:
    asked = f'{{"id":"int-1","reason":"input_required","responseSchema":{schema}}}'
    task = tape.task(started(), outcome(asked))
    client.force_login(alice)
    assert client.get(f"/cases/{task.case.code}/").status_code == 200
    assert ("invalid-schema" in slugs(task), schemas.usable(schema) is None) == (not usable, usable)
    assert list(kit_of(task).forms)

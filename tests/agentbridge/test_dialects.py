"""The plain dialect, legacy events, and what all dialects share, by hand-made runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentbridge import dialects
from agentbridge.dialects import kits
from agentbridge.wire.record import ResultView
from approvals import jsontext
from tests.agentbridge.dialect_runs import (
    ARGS,
    SCHEMA,
    YES,
    answer_of,
    call,
    cancelled,
    event,
    finished,
    only_kit,
    paused,
    question,
    said,
)


class TestPlain:
    def test_entries_keep_the_order_and_the_bytes_of_the_answers(self):
        text = dialects.get("plain").send([said("b", '{"n": 1.0}'), cancelled("a"), said("c", "false")], "{}").entries
        assert text == (
            '[{"interruptId":"b","status":"resolved","payload":{"n": 1.0}},'
            '{"interruptId":"a","status":"cancelled"},'
            '{"interruptId":"c","status":"resolved","payload":false}]'
        )

    def test_one_entry_per_id(self):
        assert dialects.get("plain").send([said(), said()], "{}").entries.count("interruptId") == 1

    @pytest.mark.parametrize("other", [said(answer='{"approved":false}'), cancelled()])
    def test_two_answers_to_one_id_are_refused(self, other):
        with pytest.raises(ValueError, match="int-1"):
            dialects.get("plain").send([said(), other], "{}")

    def test_an_answer_without_a_value_is_never_sent_as_one(self):
        with pytest.raises(ValueError, match="int-1"):
            dialects.get("plain").send([said(answer=None)], "{}")

    def test_no_answers_are_no_list(self):
        assert dialects.get("plain").send([], "{}") == dialects.Sending()

    @pytest.mark.parametrize(
        ("props", "left"),
        [
            ('{"a": 1.0, "command": {"resume": true, "update": {}}}', '{"a": 1.0, "command": {"update": {}}}'),
            ('{"a": 1.0, "command": {"resume": true, "interruptEvent": {}}}', '{"a": 1.0}'),
            ('{"a": 1.0, "command": {"update": {}}}', None),
            ('{"command": "resume"}', None),
            ("{}", None),
        ],
    )
    def test_an_earlier_answer_never_goes_along(self, props, left):
        assert dialects.get("plain").send([said()], props).forwarded_props == left

    def test_a_question_without_a_call_id_claims_no_call(self):
        _, [pause], _ = dialects.recognise(paused(question(), calls=[call(), call("c2", "delete_user")]))
        assert pause.call is None

    def test_a_call_that_no_event_knows_is_none(self):
        _, [pause], _ = dialects.recognise(paused(question(tool_call_id="gone"), calls=[call()]))
        assert (pause.call, pause.flags) == (None, [])

    def test_metadata_that_contradicts_the_call_is_flagged(self):
        run = paused(question(tool_call_id="c1", metadata='{"amount": 12}'), calls=[call()])
        _, [pause], _ = dialects.recognise(run)
        assert [(flag["slug"], flag["pointer"]) for flag in pause.flags] == [("conflicting-arguments", "/amount")]

    @pytest.mark.parametrize("metadata", ['{"amount": 1200.0}', '{"reason": "to"}', '{"to": {"x": 1}}', None])
    def test_metadata_that_agrees_or_says_something_else_is_not(self, metadata):
        _, [pause], _ = dialects.recognise(paused(question(tool_call_id="c1", metadata=metadata), calls=[call()]))
        assert pause.flags == []

    def test_another_tool_in_the_metadata_is_flagged(self):
        metadata = '{"tool_name":"pay","tool_input":' + ARGS + "}"
        _, [pause], _ = dialects.recognise(paused(question(tool_call_id="c1", metadata=metadata), calls=[call()]))
        assert [flag["slug"] for flag in pause.flags] == ["conflicting-tool"]

    def test_an_unknown_name_is_an_error_and_none_is_plain(self):
        assert dialects.get("").name == "plain"
        with pytest.raises(KeyError):
            dialects.get("cobol")

    def test_every_name_is_its_dialect(self):
        assert [dialects.get(name).name for name in dialects.NAMES] == list(dialects.NAMES)


class TestFingerprint:
    SEALED = '{"governance":{"actionFingerprint":"sha256:\\u00e9","policyVersion":"3"}}'

    def test_it_is_echoed_byte_for_byte_with_an_approval(self):
        kit = only_kit(paused(question(metadata=self.SEALED)))
        assert answer_of(kit, "approved") == '{"approved":true,"approvedActionFingerprint":"sha256:\\u00e9"}'
        assert answer_of(kit, "rejected") == '{"approved":false}'

    def test_nobody_is_asked_to_type_it_where_the_schema_wants_it(self):
        schema = jsontext.replace(SCHEMA, {"/properties/approvedActionFingerprint": '{"type":"string"}'})
        schema = jsontext.replace(schema, {"/required": '["approved","approvedActionFingerprint"]'})
        kit = only_kit(paused(question(metadata=self.SEALED, response_schema=schema)))
        assert kit.forms["approved"].input == "none"
        assert "sha256:\\u00e9" in answer_of(kit, "rejected")

    def test_a_closed_schema_that_does_not_know_it_keeps_it_out(self):
        closed = jsontext.replace(SCHEMA, {"/additionalProperties": "false"})
        kit = only_kit(paused(question(metadata=self.SEALED, response_schema=closed)))
        assert answer_of(kit, "approved") == YES


class TestLegacyEvents:
    VALUE = '{"message": "Refund?", "tool_call_id": "c1", "response_schema": ' + SCHEMA + "}"

    @pytest.mark.parametrize("value", [jsontext.dumps(VALUE), VALUE])
    def test_a_string_id_in_the_raw_event_opens_one_question(self, value):
        run = finished(calls=[call()], customs=[event(value, '{"id": "abc"}')])
        dialect, [pause], warnings = dialects.recognise(run)
        assert (dialect.name, pause.legacy, pause.interrupt.id, pause.call.id) == ("langgraph", True, "abc", "c1")
        assert (pause.interrupt.message, pause.schema) == ("Refund?", SCHEMA)
        assert [warning.severity for warning in warnings] == ["info"]

    def test_a_plain_sentence_is_the_message(self):
        _, [pause], _ = dialects.recognise(finished(customs=[event('"Go on? (yes/no)"', '{"id":"abc"}')]))
        assert (pause.interrupt.message, pause.interrupt.reason) == ("Go on? (yes/no)", "langgraph:interrupt")

    @pytest.mark.parametrize("raw_event", [None, "{}", '{"id": 7}', '{"id": null}', '{"id": ""}', '"abc"'])
    def test_without_a_string_id_nothing_opens_and_the_run_says_so(self, raw_event):
        run = finished(customs=[event('"{\\"action\\":\\"confirm_order\\"}"', raw_event)])
        dialect, pauses, [warning] = dialects.recognise(run)
        assert (dialect.name, pauses, warning.rule) == ("plain", [], "L-5")
        assert "confirm_order" in warning.text

    def test_one_event_without_an_id_keeps_its_neighbour_closed_too(self):
        run = finished(customs=[event('"One?"', '{"id":"abc"}'), event('"Two?"')])
        _, pauses, warnings = dialects.recognise(run)
        assert (pauses, [warning.rule for warning in warnings]) == ([], ["L-5", "L-5"])

    def test_the_setting_opens_it_and_names_what_is_missing(self):
        _, [pause], _ = dialects.recognise(finished(customs=[event('"Go on?"')]), "langgraph")
        assert (pause.interrupt.id, len(pause.interrupt.problems)) == (None, 1)

    def test_beside_an_outcome_the_event_is_only_recorded(self):
        run = paused(question(), customs=[event('"Go on?"', '{"id":"int-1"}')])
        _, pauses, warnings = dialects.recognise(run)
        assert ([pause.legacy for pause in pauses], warnings) == ([False], [])

    def test_a_stated_success_is_no_pause(self):
        run = replace(finished(customs=[event('"Go on?"', '{"id":"abc"}')]), outcome="success")
        _, pauses, warnings = dialects.recognise(run)
        assert (pauses, [warning.rule for warning in warnings]) == ([], ["L-5"])

    def test_a_cancel_cannot_be_said(self):
        assert "cancelled" in only_kit(finished(customs=[event(self.VALUE, '{"id":"abc"}')])).impossible
        with pytest.raises(ValueError, match="abc"):
            dialects.get("langgraph").send([cancelled("abc", legacy=True)], "{}")

    @pytest.mark.parametrize(
        ("answer", "resume"), [('"yes"', '"yes"'), ('"true"', '"\\"true\\""'), ("true", "true"), ('"7"', '"\\"7\\""')]
    )
    def test_a_string_that_looks_like_json_arrives_as_the_string_it_is(self, answer, resume):
        sent = dialects.get("langgraph").send([said("abc", answer, legacy=True)], '{"user": 1.0}')
        assert (sent.entries, sent.forwarded_props) == ("", f'{{"user": 1.0,"command": {{"resume":{resume}}}}}')

    def test_an_older_answer_is_replaced(self):
        sent = dialects.get("langgraph").send([said(legacy=True)], '{"command":{"resume":false,"update":1}}')
        assert sent.forwarded_props == '{"command":{"update":1,"resume":{"approved":true}}}'

    @pytest.mark.parametrize("props", ["null", "[1]"])
    def test_props_that_are_no_object_make_room(self, props):
        sent = dialects.get("langgraph").send([said(legacy=True)], props)
        assert sent.forwarded_props == '{"command":{"resume":{"approved":true}}}'


class TestUnanswered:
    def test_calls_without_a_result_are_named(self):
        result = ResultView(tool_call_id="c1", message_id="m", text="done")
        run = finished(calls=[call(), call("c2", "ask_user")], results=[result])
        assert [found.id for found in dialects.unanswered(run, set())] == ["c2"]
        assert "ask_user" in dialects.recognise(run)[2][0].text

    def test_a_tool_message_is_a_result_too(self):
        run = finished(calls=[call()], messages=['{"id":"m","role":"tool","toolCallId":"c1","content":"no"}'])
        assert dialects.unanswered(run, set()) == []

    def test_tools_of_the_caller_are_answered_by_the_caller(self):
        run = finished(calls=[call()], tools='[{"name":"refund","description":"","parameters":{}}]')
        assert dialects.recognise(run)[2] == []

    def test_a_run_that_did_not_finish_has_no_end_to_compare(self):
        assert dialects.unanswered(replace(finished(calls=[call()]), status="failed"), set()) == []


def test_a_member_is_taken_out_of_a_schema_with_its_duty():
    schema = '{"properties": {"a": {}, "b": {}}, "required": ["a", "b"]}'
    assert jsontext.same(kits.without_member(schema, "b"), '{"properties":{"a":{}},"required":["a"]}')

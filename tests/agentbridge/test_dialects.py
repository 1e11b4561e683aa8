"""Dialects by hand-made runs: what no recording shows, or shows only when it is too late."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentbridge import dialects
from agentbridge.dialects import Answered, kits, sending
from agentbridge.wire.record import CallView, CustomView, InterruptView, ResultView, RunInput, RunView
from approvals import jsontext
from approvals.kit import Unanswerable

YES = '{"approved":true}'
SCHEMA = '{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}'
ARGS = '{"to":"ann@example.com","amount":1200}'


def question(id_="int-1", position=0, **members):
    return InterruptView(position=position, id=id_, **{"reason": "tool_call", "response_schema": SCHEMA, **members})


def paused(*interrupts, calls=(), customs=()):
    return RunView(
        run_id="r", thread_id="t", ours=True, status="interrupted", outcome="interrupt", interrupts=list(interrupts),
        calls={call.id: call for call in calls}, customs=list(customs),
    )  # fmt: skip


def finished(*, calls=(), customs=(), results=(), tools="[]", messages=()):
    return RunView(
        run_id="r", thread_id="t", ours=True, status="succeeded", calls={call.id: call for call in calls},
        customs=list(customs), results=list(results), messages=list(messages),
        input=RunInput(thread_id="t", run_id="r", tools=tools),
    )  # fmt: skip


def call(id_="c1", name="refund", args=ARGS):
    return CallView(id=id_, name=name, args=args, state="complete")


def said(id_="int-1", answer=YES, verdict="approved", **more):
    return Answered(interrupt_id=id_, verdict=verdict, answer=answer, **more)


def cancelled(id_="int-1", **more):
    return said(id_, None, "cancelled", **more)


def event(value, raw_event=None, name="on_interrupt"):
    return CustomView(name=name, value=value, raw_event=raw_event)


def only_kit(run, wanted="auto"):
    dialect, pauses, _ = dialects.recognise(run, wanted)
    return dialect.kit(pauses[0])


def answer_of(kit, verdict, **given):
    return kit.answer(verdict, **{"proposal": None, "edits": None, "input": None, "comment": "", **given})


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


class TestLangGraph:
    def test_a_cancel_among_several_cannot_be_sent(self):
        marked = '{"langgraph":{"raw":"?"}}'
        run = paused(question("a", metadata=marked), question("b", 1, metadata=marked))
        assert "cancelled" in only_kit(run).impossible
        with pytest.raises(ValueError, match="b"):
            dialects.get("langgraph").send([said("a"), cancelled("b")], "{}")

    def test_a_single_cancel_is_unclear(self):
        kit = only_kit(paused(question(metadata='{"langgraph":{"raw":"?"}}')))
        assert (kit.cancel, "cancelled" in kit.forms) == ("unclear", True)

    def test_two_questions_with_one_id_are_one_plain_entry(self):
        assert dialects.get("langgraph").send([said(), said()], "{}").entries == sending.entries([said()])


class TestHumanInTheLoop:
    def batch(self, *allowed, actions=1):
        names = [f"tool{n}" for n in range(actions)]
        raw = {
            "action_requests": [{"name": name, "args": {"n": 1}} for name in names],
            "review_configs": [{"action_name": name, "allowed_decisions": list(allowed)} for name in names],
        }
        metadata = jsontext.dumps({"langgraph": {"raw": raw}})
        asked = question(reason="langgraph:interrupt", response_schema=None, metadata=metadata)
        return only_kit(paused(asked, calls=[call(f"c-{name}", name, '{"n": 1}') for name in names]))

    def test_a_rejection_carries_the_comment(self):
        kit = self.batch("approve", "reject")
        assert answer_of(kit, "rejected", comment="No.") == '{"decisions":[{"type":"reject","message":"No."}]}'

    def test_what_is_not_allowed_is_not_offered(self):
        kit = self.batch("approve")
        assert (list(kit.forms), kit.can_edit) == (["approved"], False)
        assert set(kit.impossible) == {"rejected", "cancelled"}

    def test_several_calls_may_be_decided_differently_in_one_whole_answer(self):
        kit = self.batch("approve", "reject", actions=2)
        mixed = '{"decisions":[{"type":"approve"},{"type":"reject","message":"No."}]}'
        assert answer_of(kit, "answered", input=mixed) == mixed

    @pytest.mark.parametrize(
        "poison",
        [
            YES,
            '{"decisions":[]}',
            '{"decisions":[{"type":"approve"}]}',
            '{"decisions":[{"type":"edit"},{"type":"edit"}]}',
        ],
    )
    def test_an_answer_that_would_end_the_thread_is_refused(self, poison):
        with pytest.raises(Unanswerable):
            answer_of(self.batch("approve", "reject", actions=2), "answered", input=poison)

    def test_asked_per_call_it_takes_one_decision(self):
        raw = {"type": "tool_approval", "tool_call_id": "c1", "name": "refund", "args": jsontext.loads(ARGS)}
        asked = question(
            reason="langgraph:interrupt", response_schema=None, tool_call_id="c1",
            metadata=jsontext.dumps({"langgraph": {"raw": raw}}),
        )  # fmt: skip
        kit = only_kit(paused(asked, calls=[call()]))
        assert answer_of(kit, "approved", proposal=ARGS) == '{"type":"approve"}'
        assert (kit.can_edit, "cancelled" in kit.impossible) == (False, True)

    def test_asked_per_call_the_published_schema_says_what_may_be_said(self):
        raw = {"type": "tool_approval", "tool_call_id": "c1", "name": "refund", "args": jsontext.loads(ARGS)}
        schema = {"oneOf": [{"properties": {"type": {"const": word}}} for word in ("approve", "edit")]}
        asked = question(
            reason="langgraph:interrupt", response_schema=None, tool_call_id="c1",
            metadata=jsontext.dumps({"langgraph": {"raw": raw}}),
        )  # fmt: skip
        custom = event("{}", jsontext.dumps({"id": "int-1", "response_schema": schema}))
        kit = only_kit(paused(asked, calls=[call()], customs=[custom]))
        assert (kit.can_edit, "rejected" in kit.impossible) == (True, True)


class TestADK:
    def asked(self, id_="adk-1", confirmation='{"confirmed":false}', original="c1"):
        target = f'{{"id":"{original}","name":"refund","args":{ARGS}}}'
        metadata = f'{{"adk":{{"originalFunctionCall":{target},"toolConfirmation":{confirmation}}}}}'
        return question(id_, reason="confirmation", response_schema=None, tool_call_id=id_, metadata=metadata)

    def test_a_no_is_exactly_the_one_that_is_taken_for_one(self):
        kit = only_kit(paused(self.asked(), calls=[call()]))
        assert answer_of(kit, "rejected", comment="Too much.") == '{"confirmed":false}'
        assert answer_of(kit, "approved") == '{"confirmed":true}'

    @pytest.mark.parametrize("guess", ['"no"', "false", '{"approved":false}', '{"confirmed":false,"reason":"x"}', "{}"])
    def test_no_other_answer_can_be_sent(self, guess):
        with pytest.raises(Unanswerable):
            answer_of(only_kit(paused(self.asked(), calls=[call()])), "answered", input=guess)

    def test_a_payload_it_wants_can_be_filled_in(self):
        kit = only_kit(paused(self.asked(confirmation='{"payload":{"days":3}}'), calls=[call()]))
        given = answer_of(kit, "approved", input='{"payload":{"days":2}}')
        assert jsontext.same(given, '{"confirmed":true,"payload":{"days":2}}')

    def test_a_call_that_only_the_metadata_knows_is_shown_as_such(self):
        _, [pause], _ = dialects.recognise(paused(self.asked(original="elsewhere")))
        assert (pause.call.id, pause.call.name, pause.call.state) == ("elsewhere", "refund", "missing")

    def test_the_default_of_the_adapter_opens_only_by_setting(self):
        target = f'{{"id":"c1","name":"refund","args":{ARGS}}}'
        args = f'{{"originalFunctionCall":{target},"toolConfirmation":{{"hint":"Sure?"}}}}'
        run = finished(calls=[call(), call("adk-1", "adk_request_confirmation", args)])
        assert [warning.rule for warning in dialects.recognise(run)[2]] == ["L-4", "L-3a"]
        dialect, [pause], _ = dialects.recognise(run, "adk")
        assert (pause.legacy, pause.interrupt.message, pause.call.id) == (True, "Sure?", "c1")
        sent = dialect.send([said("adk-1", '{"confirmed":true}', legacy=True)], "{}")
        assert sent.messages == [
            '{"id":"answer-adk-1","role":"tool","toolCallId":"adk-1","content":"{\\"confirmed\\":true}"}'
        ]

    def test_calls_of_one_turn_go_back_in_one_message(self):
        first = '{"id": "m1", "role": "assistant", "content": "Two.", "toolCalls": [{"id": "a", "n": 1.0}]}'
        second = '{"id": "m2", "role": "assistant", "toolCalls": [{"id": "b"}]}'
        user, tool = '{"id":"u","role":"user","content":"Hi"}', '{"id":"t","role":"tool","toolCallId":"a","content":""}'
        arranged = dialects.get("adk").arrange([user, first, second, tool, second])
        joined = first.replace('[{"id": "a", "n": 1.0}]', '[{"id": "a", "n": 1.0},{"id": "b"}]')
        assert arranged == [user, joined, tool, second]


class TestOtherFrameworks:
    def test_crewai_free_text_is_a_string_and_a_cancel_may_run(self):
        kit = only_kit(paused(question(metadata='{"crewai":{}}', response_schema=None)))
        assert (list(kit.forms), kit.cancel) == (["answered", "cancelled"], "runs")
        with pytest.raises(Unanswerable):
            answer_of(kit, "answered", input="true")

    def test_crewai_labels_that_are_no_yes_and_no_stay_an_answer(self):
        schema = '{"type":"string","enum":["approved","revise"]}'
        kit = only_kit(paused(question(metadata='{"crewai":{}}', response_schema=schema)))
        assert list(kit.forms) == ["answered", "cancelled"]

    def test_crewai_legacy_value_is_the_interrupt_itself(self):
        value = '{"id":"t","reason":"crewai:human_feedback","message":"Go?","metadata":{"crewai":{}}}'
        run = finished(customs=[event(value)])
        assert dialects.recognise(run)[1] == []
        _, [pause], _ = dialects.recognise(run, "crewai")
        assert (pause.interrupt.id, pause.interrupt.message, pause.legacy) == ("t", "Go?", True)

    def test_mastra_false_would_be_a_cancel(self):
        kit = only_kit(paused(question(metadata='{"mastra":{}}', response_schema='{"type":"boolean"}')))
        assert "rejected" not in kit.forms

    def test_mastra_legacy_answer_names_the_suspended_call(self):
        value = '{"type":"mastra_suspend","toolCallId":"c1","toolName":"refund","args":{},"runId":"run-1"}'
        dialect, [pause], _ = dialects.recognise(finished(customs=[event(jsontext.dumps(value))]), "mastra")
        sent = dialect.send([said("c1", legacy=True, raw=pause.interrupt.raw)], "{}")
        assert jsontext.same(
            sent.forwarded_props,
            '{"command":{"resume":{"approved":true},"interruptEvent":{"toolCallId":"c1","runId":"run-1"}}}',
        )

    def test_mixed_answers_of_msaf_are_warned_of_and_not_blocked(self):
        marked = '{"agent_framework":{}}'
        run = paused(question("a", metadata=marked), question("b", 1, metadata=marked))
        dialect, pauses, _ = dialects.recognise(run)
        assert [[flag["slug"] for flag in pause.flags] for pause in pauses] == [["mixed-answers"]] * 2
        assert "rejected" in dialect.kit(pauses[0]).forms

    def test_a_workflow_of_msaf_may_go_on_after_a_cancel(self):
        marked = question(reason="input_required", metadata='{"agent_framework":{}}', response_schema="{}")
        assert only_kit(paused(marked)).cancel == "unclear"

    def test_agno_says_yes_and_no_in_its_own_words(self):
        kit = only_kit(finished(calls=[call()]), "agno")
        assert answer_of(kit, "approved") == '{"accepted":true}'
        assert answer_of(kit, "rejected") == '{"accepted":false}'
        assert "cancelled" in kit.impossible

    def test_only_those_that_run_the_history_need_it(self):
        assert {name for name in dialects.NAMES if dialects.get(name).needs_history} == {"pydantic_ai", "agno"}


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

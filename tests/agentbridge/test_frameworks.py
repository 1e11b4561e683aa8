"""What single frameworks make of a pause and of its answers, by hand-made runs."""

from __future__ import annotations

import pytest

from agentbridge import dialects
from agentbridge.dialects import sending
from approvals import jsontext
from approvals.kit import Unanswerable
from tests.agentbridge.dialect_runs import (
    ARGS,
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
        assert [flag["slug"] for flag in pause.flags] == ["arguments-missing"]

    def test_the_made_up_call_is_not_held_against_the_real_one(self):
        made_up = call("adk-1", "adk_request_confirmation", "{}")
        for name, flags in (("refund", []), ("pay", ["conflicting-tool"])):
            _, [pause], _ = dialects.recognise(paused(self.asked(), calls=[call("c1", name), made_up]))
            assert (pause.call.id, [flag["slug"] for flag in pause.flags]) == ("c1", flags)

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

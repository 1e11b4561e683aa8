"""What a verdict means as an answer, by the plain rules."""

from __future__ import annotations

import json
from typing import Any

import pytest

from approvals.kit import AnswerForm, Meaning, Unanswerable, VerdictKit, standard_kit
from approvals.schemas import Problem

PROPOSAL = '{"to":"ann","amount":1.0}'
BOOLEAN: dict[str, Any] = {"type": "boolean"}
APPROVAL: dict[str, Any] = {"type": "object", "properties": {"approved": BOOLEAN}, "required": ["approved"]}
EDITABLE = {
    **APPROVAL,
    "properties": {"approved": BOOLEAN, "editedArgs": {"type": "object"}, "reason": {"type": "string"}},
}


def kit_for(
    schema: Any = None, *, reason: str = "tool_call", proposal: str | None = PROPOSAL, has_call: bool = True
) -> VerdictKit:
    text = None if schema is None else json.dumps(schema)
    return standard_kit(reason=reason, schema=text, has_call=has_call, proposal=proposal)


def answer(kit: VerdictKit, verdict: str, **parts: Any) -> str | None:
    return kit.answer(verdict, **{"proposal": PROPOSAL, **parts})


def wrong(kit: VerdictKit, verdict: str, **parts: Any) -> list[str]:
    with pytest.raises(Unanswerable) as caught:
        answer(kit, verdict, **parts)
    return [problem.pointer for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("reason", "answers"),
    [
        ("confirmation", {"approved": "true", "rejected": "false", "cancelled": None}),
        ("tool_call", {"approved": '{"approved":true}', "rejected": '{"approved":false}', "cancelled": None}),
    ],
)
def test_without_a_schema_the_reason_says_what_yes_and_no_are(reason: str, answers: dict[str, str | None]) -> None:
    kit = kit_for(reason=reason)
    assert {verdict: answer(kit, verdict) for verdict in kit.forms} == answers


@pytest.mark.parametrize("reason", ["input_required", "acme:policy", ""])
def test_without_a_schema_any_other_question_is_answered_freely(reason: str) -> None:
    kit = kit_for(reason=reason)
    assert list(kit.forms) == ["answered", "cancelled"]
    assert [answer(kit, "answered", input=text) for text in ("false", '""', "0", "[]")] == ["false", '""', "0", "[]"]
    assert wrong(kit, "answered") == ["/input"]
    assert wrong(kit, "answered", input="yes please") == ["/input"]


def test_a_whole_answer_without_a_schema_must_be_one_of_the_two() -> None:
    kit = kit_for()
    assert answer(kit, "answered", input='{"approved":false}') == '{"approved":false}'
    assert wrong(kit, "answered", input='"no"') == ["/input"]
    assert wrong(kit, "answered", input='{"approved":true,"x":1}') == ["/input"]


def test_an_unusable_schema_leaves_free_json_beside_the_plain_verdicts() -> None:
    kit = kit_for({"type": "any"})
    assert list(kit.forms) == ["approved", "rejected", "answered", "cancelled"]
    assert kit.schema is None
    assert answer(kit, "answered", input="[1]") == "[1]"


@pytest.mark.parametrize("schema", [False, {"enum": []}])
def test_where_nothing_fits_only_cancel_is_left(schema: Any) -> None:
    kit = kit_for(schema)
    assert list(kit.forms) == ["cancelled"]
    assert kit.impossible == {"answered": "The schema accepts no answer at all."}


def test_edits_replace_the_arguments_and_the_rest_of_the_answer_stays() -> None:
    kit = kit_for(EDITABLE)
    assert answer(kit, "approved", edits='{"to": "bob","amount":1.0}') == (
        '{"approved":true,"editedArgs":{"to": "bob","amount":1.0}}'
    )
    assert answer(kit, "approved", comment="fine") == '{"approved":true,"reason":"fine"}'
    assert answer(kit, "rejected", comment="no") == '{"approved":false,"reason":"no"}'


def test_edits_that_change_nothing_are_none() -> None:
    assert answer(kit_for(EDITABLE), "approved", edits='{ "amount":1.0, "to":"ann" }') == '{"approved":true}'
    assert answer(kit_for(APPROVAL), "approved", edits=PROPOSAL) == '{"approved":true}'
    assert wrong(kit_for(APPROVAL), "approved", edits='{"to":"ann","amount":1}') == ["/edits"]


def test_edits_may_name_what_the_proposal_the_schema_or_the_tool_knows() -> None:
    kit = kit_for(EDITABLE)
    assert wrong(kit, "approved", edits='{"cc":"x"}') == ["/edits/cc"]
    assert answer(kit, "approved", edits='{"cc":"x"}', parameters='{"properties":{"cc":{}}}')
    assert wrong(kit, "approved", edits="[1]") == ["/edits"]
    assert wrong(kit, "approved", edits="{") == ["/edits"]
    assert wrong(kit, "rejected", edits='{"to":"bob"}') == ["/edits"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/d", "$defs": {"d": EDITABLE}},
        {"allOf": [APPROVAL, {"properties": {"editedArgs": {"type": "object"}}}]},
        {"anyOf": [{"properties": {"approved": {"const": False}}, "required": ["approved"]}, EDITABLE]},
    ],
)
def test_the_place_for_edits_is_found_behind_references_and_choices(schema: Any) -> None:
    kit = kit_for(schema)
    assert kit.can_edit
    assert answer(kit, "approved", edits='{"to":"bob"}') == '{"approved":true,"editedArgs":{"to":"bob"}}'
    assert answer(kit, "rejected") == '{"approved":false}'


def test_declared_arguments_must_all_be_there_and_no_others() -> None:
    arguments = {"type": "object", "properties": {"to": {"type": "string"}, "amount": {"type": "number"}}}
    strict = {**arguments, "required": ["to", "amount"], "additionalProperties": False}
    tops = {"approved": BOOLEAN, "accepted": BOOLEAN, **arguments["properties"], "editedArgs": strict}
    schema = {
        "type": "object",
        "properties": tops,
        "anyOf": [{"required": ["approved"]}],
        "additionalProperties": False,
    }
    kit = kit_for(schema)
    assert kit.forms["approved"].input == "none"
    assert wrong(kit, "approved", edits='{"to":"bob"}') == ["/edits/amount"]
    assert wrong(kit, "approved", edits='{"to":"bob","amount":"x","cc":1}') == ["/edits/amount", "/edits/cc"]


def test_arguments_at_the_top_of_the_answer_are_edits_spread() -> None:
    schema = {**APPROVAL, "properties": {"approved": BOOLEAN, "to": {"type": "string"}, "amount": {"type": "number"}}}
    kit = kit_for(schema)
    assert answer(kit, "approved", edits='{"to":"bob","amount":1.0}') == '{"approved":true,"to":"bob","amount":1.0}'
    assert answer(kit, "approved") == '{"approved":true}'
    assert wrong(kit, "approved", edits='{"to":"bob","amount":"x"}') == ["/edits/amount"]


@pytest.mark.parametrize("proposal", ["[1]", "null", '{"a', '"x"'])
def test_arguments_that_are_no_object_can_be_approved_but_not_edited(proposal: str) -> None:
    kit = kit_for(EDITABLE, proposal=proposal)
    assert not kit.can_edit
    assert "not a whole JSON object" in kit.no_edits
    assert kit.answer("approved", proposal=proposal) == '{"approved":true}'


def test_a_question_that_names_no_call_offers_no_edits() -> None:
    assert not kit_for(EDITABLE, has_call=False).can_edit
    assert not kit_for(EDITABLE, proposal=None).can_edit


def test_a_required_reason_is_the_comment_and_its_absence_is_said_there() -> None:
    schema = {**APPROVAL, "properties": {"approved": BOOLEAN, "reason": {"type": "string", "minLength": 1}}}
    kit = kit_for({**schema, "required": ["approved", "reason"]})
    assert wrong(kit, "approved") == ["/comment"]
    assert answer(kit, "approved", comment="ok") == '{"approved":true,"reason":"ok"}'


def test_a_comment_without_a_place_stays_in_the_trail() -> None:
    assert answer(kit_for(APPROVAL), "rejected", comment="wrong IBAN") == '{"approved":false}'


def test_an_argument_called_message_is_no_comment() -> None:
    schema = {**APPROVAL, "properties": {"approved": BOOLEAN, "message": {"type": "string"}}}
    kit = kit_for(schema, proposal='{"message":"hello"}')
    assert kit.forms["approved"].comment_at is None


def test_other_members_are_filled_in_and_constants_are_there_already() -> None:
    more = {"approved": BOOLEAN, "days": {"type": "integer"}, "v": {"const": 2}}
    kit = kit_for({"type": "object", "properties": more, "required": ["approved", "days", "v"]})
    assert answer(kit, "approved", input='{"days":3}') == '{"approved":true,"v":2,"days":3}'
    assert wrong(kit, "approved") == ["/input/days"]
    assert wrong(kit, "approved", input='{"days":2.5}') == ["/input/days"]
    assert wrong(kit, "approved", input='{"days":2,"approved":false}') == ["/input/approved"]
    assert wrong(kit, "approved", input='{"days":2,"nights":1}') == ["/input/nights"]


def test_a_no_may_say_more_where_its_schema_lets_it() -> None:
    kit, closed = kit_for(APPROVAL), kit_for({**APPROVAL, "additionalProperties": False})
    said = '{"approved":false,"reason":"wrong person"}'
    assert answer(kit, "rejected", input='{"reason":"wrong person"}') == said
    assert answer(kit, "answered", input=said) == said
    assert wrong(closed, "rejected", input='{"reason":"wrong person"}') == ["/input/reason"]
    assert wrong(closed, "answered", input=said) == ["/input/reason"]
    assert wrong(kit, "rejected", input='{"approved":true}') == ["/input/approved"]
    assert wrong(kit, "approved", input='{"reason":"fine"}') == ["/input"]


@pytest.mark.parametrize("schema", [{"const": True}, {**APPROVAL, "properties": {"approved": {"const": True}}}])
def test_a_question_without_a_no_says_so(schema: Any) -> None:
    kit = kit_for(schema)
    assert list(kit.forms) == ["approved", "cancelled"]
    assert wrong(kit, "rejected") == ["/verdict"]
    assert "Cancelling" in kit.impossible["rejected"]


def test_where_neither_yes_nor_no_is_enough_the_whole_answer_is_typed() -> None:
    kit = kit_for({**APPROVAL, "patternProperties": {"^x-": {"type": "integer"}}, "minProperties": 2})
    assert list(kit.forms) == ["answered", "cancelled"]
    assert answer(kit, "answered", input='{"approved":true,"x-1":1}') == '{"approved":true,"x-1":1}'


def test_a_place_for_text_is_no_place_for_edits() -> None:
    kit = kit_for({**APPROVAL, "properties": {"approved": BOOLEAN, "editedArgs": {"type": "string"}}})
    assert not kit.can_edit and "does not say" in kit.no_edits


def test_a_bare_boolean_is_yes_or_no() -> None:
    kit = kit_for(BOOLEAN, reason="confirmation")
    assert (answer(kit, "approved"), answer(kit, "rejected")) == ("true", "false")


@pytest.mark.parametrize(
    "schema",
    [{"enum": ["approved", "rejected"]}, {"type": "string"}, {"properties": {"approved_days": {"type": "integer"}}}],
)
def test_anything_else_is_answered_whole(schema: Any) -> None:
    assert list(kit_for(schema).forms) == ["answered", "cancelled"]


def test_a_whole_answer_is_taken_where_it_fits_and_read_as_its_verdict() -> None:
    kit = kit_for(EDITABLE)
    text = '{"approved":true,"editedArgs":{"to":"bob"},"reason":"x"}'
    assert answer(kit, "answered", input=text) == text
    assert kit.meaning(text) == Meaning(verdict="approved", edits='{"to":"bob"}', comment="x")
    assert kit.meaning('{"approved":false}') == Meaning(verdict="rejected")
    assert kit.meaning('{"approved":1}') is None
    assert wrong(kit, "answered", input='{"approved":"yes"}') == ["/input/approved"]


def test_edits_cannot_be_smuggled_into_a_whole_answer() -> None:
    assert wrong(kit_for(APPROVAL), "answered", input='{"approved":true,"editedArgs":{}}') == ["/input/editedArgs"]
    assert wrong(kit_for(EDITABLE), "answered", input='{"approved":true,"editedArgs":{"x":1}}') == [
        "/input/editedArgs/x"
    ]


def test_no_answer_says_two_things_under_one_name() -> None:
    kit = kit_for(EDITABLE)
    assert wrong(kit, "answered", input='{"approved":false,"approved":true}') == ["/input/approved"]
    assert wrong(kit, "approved", edits='{"to":"ann","to":"bob"}') == ["/edits/to"]
    twice = '{"to":"ann","to":"bob","n":1}'
    edited = kit.answer("approved", proposal=twice, edits='{"to":"ann","to":"bob","n":2}')
    assert edited == '{"approved":true,"editedArgs":{"to":"ann","to":"bob","n":2}}'


def test_cancelling_sends_nothing_and_takes_nothing() -> None:
    kit = kit_for(EDITABLE)
    assert answer(kit, "cancelled", comment="nobody knows") is None
    assert wrong(kit, "cancelled", edits="{}") == ["/verdict"]
    assert wrong(kit, "cancelled", input="{}") == ["/verdict"]


def test_a_kit_comes_back_from_its_json() -> None:
    kit = kit_for(EDITABLE, proposal='{"\ud800":1}')
    assert VerdictKit.from_json(kit.to_json()) == kit
    kit.to_json().encode()


def test_a_problem_in_edits_points_into_the_edits() -> None:
    kit = VerdictKit(
        forms={"approved": AnswerForm(answer='{"ok":true}', edits_at="/call/args")},
        schema='{"properties":{"call":{"properties":{"args":{"properties":{"n":{"type":"integer"}}}}}}}',
    )
    with pytest.raises(Unanswerable) as caught:
        kit.answer("approved", proposal='{"n":1}', edits='{"n":"x"}')
    assert caught.value.problems == [Problem("/edits/n", "This must be of type integer.")]


def test_edits_deep_inside_an_answer_are_read_back() -> None:
    form = AnswerForm(
        answer='{"decisions":[{"type":"approve"}]}',
        edited='{"decisions":[{"type":"edit","args":{}}]}',
        edits_at="/decisions/0/args",
    )
    kit = VerdictKit(forms={"approved": form})
    sent = kit.answer("approved", proposal='{"n":1}', edits='{"n":2}')
    assert sent == '{"decisions":[{"type":"edit","args":{"n":2}}]}'
    assert kit.meaning(sent) == Meaning(verdict="approved", edits='{"n":2}')
    assert kit.meaning('{"decisions":[{"type":"edit"}]}') is None


def test_null_is_an_answer_only_where_a_schema_allows_it() -> None:
    assert wrong(kit_for(reason="input_required"), "answered", input="null") == ["/input"]
    nullable = kit_for({"type": ["string", "null"]})
    assert answer(nullable, "answered", input="null") == "null"
    assert "no answer" in nullable.forms["answered"].note
    assert kit_for({"type": "string"}).forms["answered"].note == ""


def test_edits_may_add_what_an_open_schema_invites() -> None:
    kit = kit_for(EDITABLE)
    assert answer(kit, "approved", edits='{"cc":"x"}', parameters='{"additionalProperties":true}')
    assert wrong(kit, "approved", edits='{"cc":"x"}', parameters='{"additionalProperties":false}') == ["/edits/cc"]

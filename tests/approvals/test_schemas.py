"""Checking answers against schemas that somebody else wrote."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from approvals import schemas
from approvals.schemas import Problem, UnusableSchema, worker

YES_NO = '{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}'


def fits(schema: Any, value: str) -> bool:
    return schemas.problems(json.dumps(schema), value) == []


def test_problems_stand_where_they_are_and_say_what() -> None:
    schema = {
        "type": "object",
        "properties": {"a/b": {"type": "array", "items": {"type": "integer"}}},
        "required": ["c"],
    }
    assert schemas.problems(json.dumps(schema), '{"a/b":[1,"x"]}') == [
        Problem("/a~1b/1", "This must be of type integer."),
        Problem("/c", "This is missing."),
    ]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, "1.0", True),
        ({"type": "integer"}, "true", False),
        ({"type": "integer"}, "12345678901234567890123", True),
        ({"enum": [1, "x"]}, "true", False),
        ({"enum": [1, "x"]}, "1.0", True),
        ({"enum": [[False]]}, "[0]", False),
        ({"const": False}, "0", False),
        ({"uniqueItems": True}, "[1,true,0,false]", True),
        ({"uniqueItems": True}, "[1,1.0]", False),
        ({"uniqueItems": True}, '[{"a":1},{"a":true}]', True),
        ({"multipleOf": 0.01}, "19.99", True),
        ({"multipleOf": 0.01}, "1234567.89", True),
        ({"multipleOf": 0.01}, "1.115", False),
        ({"multipleOf": 0.1}, "1e400", True),
        ({"multipleOf": 3}, "1e400", False),
        ({"multipleOf": 0.1}, "1e-400", False),
        ({"multipleOf": 0.01}, "0." + "5" * 5000, False),
        ({"maxLength": 2.0}, '"abc"', False),
        ({"maximum": 9007199254740993}, "9007199254740994", False),
        ({"exclusiveMinimum": 0}, "0", False),
        (True, "[1]", True),
        (False, "[1]", False),
        ({"anyOf": [False, False]}, "1", False),
        ({"oneOf": [False, {"required": ["a"]}]}, "{}", False),
    ],
)
def test_numbers_and_equality_are_those_of_json(schema: Any, value: str, expected: bool) -> None:
    assert fits(schema, value) is expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("date-time", "2030-01-02T03:04:05Z", True),
        ("date-time", "2030-01-02t03:04:05.123456789+09:00", True),
        ("date-time", "2030-01-02T03:04:60Z", True),
        ("date-time", "2030-01-02T03:04:05", False),
        ("date-time", "2030-01-02T03:60:00Z", False),
        ("date-time", "2030-01-02T03:04:05+01:60", False),
        ("date", "2030-02-30", False),
        ("time", "03:04:05Z", True),
        ("email", "kim@example.test", True),
        ("email", "a@b\n<script>", False),
        ("email", '"kim lee"@example.test', True),
        ("uuid", "123", False),
        ("ipv4", "1.2.3.256", False),
        ("ipv6", "::1", True),
        ("acme-code", "???", True),
    ],
)
def test_formats_we_know_are_checked_and_others_never_block(name: str, value: str, expected: bool) -> None:
    assert fits({"format": name}, json.dumps(value)) is expected


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 0, "exclusiveMinimum": True}, "0", False),
        ({"$schema": "https://json-schema.org/draft-07/schema", "items": [{"type": "string"}]}, "[1]", False),
        (
            {"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{"type": "string"}]},
            "[1]",
            False,
        ),
        ({"$schema": "https://schemas.example.test/v9", "type": "integer"}, '"x"', False),
        (
            {
                "$schema": "https://json-schema.org/draft/2019-09/schema",
                "$recursiveAnchor": True,
                "properties": {"a": True},
                "allOf": [{"properties": {"b": {"$recursiveRef": "#"}}}],
                "unevaluatedProperties": False,
            },
            '{"b":{"a":1}}',
            True,
        ),
        ({"items": [{"type": "string"}], "additionalItems": False}, '["x"]', True),
        ({"items": [{"type": "string"}], "additionalItems": False}, '["x",1]', False),
        ({"minimum": 0, "exclusiveMinimum": True}, "0", False),
        ({"dependencies": {"a": ["b"]}}, '{"a":1}', False),
        ({"dependencies": {"a": {"required": ["b"]}}}, '{"a":1,"b":2}', True),
    ],
)
def test_each_dialect_is_read_by_its_own_rules(schema: Any, value: str, expected: bool) -> None:
    assert fits(schema, value) is expected


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$ref": "https://schemas.example.test/x"}, "nothing is fetched"),
        ({"$ref": "#/$defs/missing"}, "a part it does not have"),
        ({"$ref": "#"}, "itself without end"),
        ({"properties": ["a"]}, "invalid at “/properties”"),
        ({"required": "a"}, "invalid at “/required”"),
        ({"minLength": "3"}, "invalid at “/minLength”"),
        ({"oneOf": []}, "invalid at “/oneOf”"),
        ({"type": "any"}, "invalid at “/type”"),
        ({"pattern": "("}, "invalid at “/pattern”"),
        ("object", "must be an object, true or false"),
        ([1, 2], "must be an object, true or false"),
        ({"description": "x" * 70_000}, "larger than 65536 bytes"),
        ({"not": json.loads('{"not":' * 40 + "{}" + "}" * 40)}, "deeper than 32 levels"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why(schema: Any, reason: str) -> None:
    assert reason in (schemas.usable(json.dumps(schema)) or "")
    with pytest.raises(UnusableSchema, match=reason.replace("(", "\\(")):
        schemas.problems(json.dumps(schema), '{"a":1}')


DRAFT_07 = "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize("named", [DRAFT_07, "https://json-schema.org/draft/2020-12/schema", "urn:example:own"])
@pytest.mark.parametrize(
    ("inner", "value", "expected"),
    [
        ({"type": "integer"}, "1.0", True),
        ({"enum": [1]}, "true", False),
        ({"pattern": r"^\p{L}+$"}, '"é"', True),
        ({"pattern": r"^\d$"}, '"١"', False),
        ({"multipleOf": 0.01}, "19.99", True),
    ],
)
def test_a_part_that_names_its_draft_is_judged_as_exactly(named: str, inner: Any, value: str, expected: bool) -> None:
    """Tools bring their own `$schema` along into an answer's schema."""
    assert fits({"properties": {"a": {"$schema": named, **inner}}}, f'{{"a":{value}}}') is expected


def test_a_part_that_names_its_draft_is_read_by_that_draft() -> None:
    new = {"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{"type": "string"}]}
    assert not fits({"$schema": DRAFT_07, "properties": {"a": new}}, '{"a":[1]}')
    missing = schemas.problems(json.dumps({"properties": {"a": {"$schema": DRAFT_07, "required": ["b"]}}}), '{"a":{}}')
    assert [one.pointer for one in missing] == ["/a/b"]


def test_what_only_looks_like_a_reference_is_a_value() -> None:
    assert schemas.usable('{"enum":[{"$ref":"https://x.example/"}],"default":{"$ref":"#/nowhere"}}') is None
    assert schemas.usable('{"properties":{"$ref":{"type":"string"},"enum":{"$ref":"#/properties/$ref"}}}') is None
    assert schemas.usable('{"$ref":"b.json","$defs":{"a":{"$id":"b.json","type":"string"}}}') is None


FIXED = {"readOnly": True}
TUPLE = {"items": [{"type": "string"}], "additionalItems": {"type": "integer"}}
NEW = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


@pytest.mark.parametrize(
    "schema",
    [
        {**NEW, "properties": {"a": TUPLE}},
        {**NEW, "properties": {"a": {"$schema": DRAFT_07, **TUPLE}}},
        {"properties": {"a": TUPLE, "b": {"prefixItems": [True]}}},
        {**NEW, "properties": {"a": {"$ref": "#/$defs/pair"}}, "$defs": {"pair": TUPLE, "items": {"enum": [[]]}}},
    ],
)
def test_a_tuple_of_an_older_draft_is_one_in_the_newest_too(schema: dict[str, Any]) -> None:
    text = json.dumps(schema)
    assert schemas.problems(text, '{"a":["x",1]}') == []
    assert [one.pointer for one in schemas.problems(text, '{"a":[1,"x"]}')] == ["/a/0", "/a/1"]


def test_a_tuple_that_something_refers_into_stays_as_it_is_written() -> None:
    led = {"properties": {"a": TUPLE, "b": {"$ref": "#/properties/a/items/0"}}}
    assert not fits(led, '{"b":1}')
    assert "/properties/a/items" in (schemas.usable(json.dumps({**NEW, **led})) or "")


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^([a-zA-Z]+)*$", "((a{1000}){1000}){1000}"])
@pytest.mark.parametrize("named", [{}, {"$schema": "http://json-schema.org/draft-07/schema#"}])
def test_a_catastrophic_pattern_costs_no_time(pattern: str, named: dict[str, str]) -> None:
    began = time.process_time()  # our own: whatever else the machine does
    try:
        assert schemas.problems(
            json.dumps({"not": {"not": {"pattern": pattern, **named}}}), json.dumps("a" * 5000 + "!")
        )
    except UnusableSchema as unusable:
        assert "too long" in str(unusable)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"pattern": r"^\p{L}+$"}, '"é"', True),
        ({"pattern": "^(?:x{9}){999}$"}, '"x"', False),
        ({"patternProperties": {"^n": {"type": "integer"}}}, '{"n1":"x"}', False),
        ({"patternProperties": {"^n": True}, "additionalProperties": False}, '{"n1":1,"x":1}', False),
        ({"patternProperties": {"^n": True}, "unevaluatedProperties": False}, '{"n1":1}', True),
        ({"allOf": [{"properties": {"b": True}}], "unevaluatedProperties": False}, '{"b":1,"c":1}', False),
        (
            {"if": {"required": ["a"]}, "then": {"properties": {"a": True}}, "unevaluatedProperties": False},
            '{"a":1}',
            True,
        ),
        ({"unevaluatedProperties": {"type": "string"}}, '{"a":1}', False),
    ],
)
def test_patterns_work_in_all_four_places(schema: Any, value: str, expected: bool) -> None:
    assert fits(schema, value) is expected


def test_a_check_without_end_is_killed_and_the_next_one_works() -> None:
    doubling = {f"a{i}": {"anyOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(28)}
    bomb = json.dumps({"$defs": {**doubling, "a28": {"type": "string"}}, "$ref": "#/$defs/a0"})
    with pytest.raises(UnusableSchema, match="too long"):
        schemas.problems(bomb, "1")
    assert schemas.problems('{"unevaluatedItems":false}', "[1]")


def test_a_small_schema_needs_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "failures", None)
    assert schemas.problems(YES_NO, '{"approved":true}') == []


def test_a_failed_choice_names_what_is_wrong_in_the_branch_that_was_meant() -> None:
    card = {"properties": {"kind": {"const": "card"}, "number": {"type": "string"}}, "required": ["kind", "number"]}
    bank = {"properties": {"kind": {"const": "bank"}, "iban": {"type": "string"}}, "required": ["kind", "iban"]}
    schema = json.dumps({"oneOf": [card, bank]})
    assert schemas.problems(schema, '{"kind":"bank"}') == [Problem("/iban", "This is missing.")]


def test_deep_and_wide_values_are_refused_not_fatal() -> None:
    assert schemas.problems('{"type":"object"}', "[" * 9_000 + "]" * 9_000)
    assert len(schemas.problems('{"items":{"type":"string"}}', json.dumps([1] * 5000))) == 100
    with pytest.raises(UnusableSchema):
        schemas.problems('{"items":{"$ref":"#"}}', "[" * 5000 + "]" * 5000)


def test_members_are_found_behind_references_and_choices() -> None:
    schema = {
        "$ref": "#/$defs/root",
        "$defs": {
            "root": {
                "allOf": [{"properties": {"a": True}}, {"$ref": "#/$defs/more"}],
                "anyOf": [{"properties": {"c": {"$ref": "#word"}}}, {"$ref": "#/$defs/root"}],
                "then": {"properties": {"d": True, "gone": False}},
            },
            "more": {"properties": {"b": True}},
            "word": {"$anchor": "word", "type": "string"},
        },
    }
    found = schemas.members(json.dumps(schema))
    assert set(found) == {"a", "b", "c", "d"}
    assert found["c"]["type"] == "string"


@pytest.mark.parametrize("written", [{"prefixItems": [{}], "items": FIXED}, {"items": [{}], "additionalItems": FIXED}])
def test_what_is_kept_behind_the_places_of_a_tuple_is_kept(written: Any) -> None:
    text = json.dumps({"properties": {"l": written}})
    assert schemas.kept(text, ["/l/0", "/l/1", "/l/7"]) == ["/l/1", "/l/7"]

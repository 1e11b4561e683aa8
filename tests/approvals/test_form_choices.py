"""What schemas of other tools say with choices, null, references and conditions, and which controls that makes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from approvals import schemas
from approvals.kit import standard_kit
from tests.approvals.formpage import Filled


def labels(schema: Any) -> list[str]:
    return [option.label for option in Filled({"properties": {"a": schema}}).tree.at("/a").options]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": ["string", "null"], "enum": ["x", None]}, ["choose one", "x", "null"]),
        ({"type": ["string", "null"], "enum": ["x"]}, ["choose one", "x"]),
        ({"anyOf": [{"enum": ["x"]}, {"type": "null"}]}, ["choose one", "x", "null"]),
        ({"oneOf": [{"const": "x"}, {"const": None}]}, ["choose one", "x", "null"]),
        ({"type": ["string", "null"], "const": "x"}, ["x"]),
    ],
)
def test_null_is_offered_once_and_only_where_it_may_stand(schema: Any, said: list[str]) -> None:
    assert labels(schema) == said


def test_null_beside_a_constant_can_be_chosen() -> None:
    form = Filled({"properties": {"a": {"oneOf": [{"const": "x"}, {"type": "null"}]}}})
    form.page.choose_null("/a")
    assert form.read().text == '{"a":null}'
    form.page.type("/a", "x")
    assert form.read().text == '{"a":"x"}'


@pytest.mark.parametrize(
    "schema",
    [{"type": ["string", "integer", "null"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}],
)
def test_null_can_be_said_beside_several_types(schema: Any) -> None:
    form = Filled({"properties": {"a": schema}}, '{"a":null}')
    assert form.read().text == '{"a":null}'
    form.page.type("/a", "x")
    assert form.read().text == '{"a":"x"}'
    other = Filled({"properties": {"a": schema}}, '{"a":7}')
    other.page.values["v:state/a"] = "null"
    assert other.read().text == '{"a":null}'


def test_an_object_that_may_be_null_keeps_its_conditions() -> None:
    form = Filled({"properties": {"a": {"anyOf": [TWO_CONDITIONS, {"type": "null"}]}}}, '{"a":{"k":"card"}}')
    form.page.type("/a/pan", "4")
    assert form.read().text == '{"a":{"k":"card","pan":"4"}}'


@pytest.mark.parametrize("kind", ["string", "integer"])
def test_a_default_of_null_is_taken_as_null(kind: str) -> None:
    form = Filled({"properties": {"a": {"type": [kind, "null"], "default": None}}})
    form.press("use:v/a")
    assert form.read().text == '{"a":null}'


def test_a_text_that_is_our_own_sign_for_null_stays_a_text() -> None:
    text = '{"a":"\ue000null","b":1}'
    form = Filled({"properties": {"a": {"type": ["string", "null"]}, "b": {"type": "integer"}}}, text)
    form.page.type("/b", "2")
    assert form.read().text == text.replace("1", "2")


def test_titled_enums_of_one_are_options_as_constants_are() -> None:
    titled = {"oneOf": [{"enum": ["kr"], "title": "Korea"}, {"enum": ["de"], "title": "Germany"}]}
    assert labels(titled) == ["choose one", "Korea", "Germany"]


TREE: dict[str, Any] = {
    "oneOf": [
        {"title": "leaf", "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        {
            "title": "node",
            "type": "object",
            "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}},
            "required": ["kids"],
        },
    ]
}


def chosen(form: Filled, pointer: str) -> list[str]:
    return [branch.label for branch in form.tree.at(pointer).branches if branch.chosen]


def test_the_shape_of_a_value_is_found_behind_references_to_the_whole() -> None:
    form = Filled(TREE, '{"kids":[{"n":1},{"kids":[{"n":"x"}]}]}')
    assert [chosen(form, place) for place in ("", "/kids/0", "/kids/1")] == [["node"], ["leaf"], ["node"]]


def test_the_shape_of_a_value_is_found_behind_references_to_a_member() -> None:
    base = {"type": "object", "required": ["n"]}
    shapes = [
        {"title": "one", "type": "object", "properties": {"s": {"$ref": "#/properties/base"}}, "required": ["s"]},
        {"title": "two", "type": "object", "properties": {"t": {"type": "integer"}}, "required": ["t"]},
    ]
    form = Filled({"properties": {"base": base, "a": {"oneOf": shapes}}}, '{"a":{"t":1}}')
    assert chosen(form, "/a") == ["two"]


def test_a_part_of_a_schema_stands_alone_with_all_it_refers_to() -> None:
    root = {
        "$id": "urn:example:tree",
        "properties": {"n": {"type": "integer"}, "t": {"items": {"$ref": "#/properties/n"}}},
    }
    text = schemas.part(root, root["properties"]["t"])  # type: ignore[index]
    assert [one.pointer for one in schemas.problems(text, '[1,"x"]')] == ["/1"]
    text = schemas.part(TREE, TREE["oneOf"][1])
    assert schemas.problems(text, '{"kids":[{"kids":[{"n":1}]}]}') == []
    assert schemas.problems(text, '{"kids":[{"kids":[{"n":"1"}]}]}')


def test_a_member_may_be_called_like_a_keyword_and_still_refers_to_the_whole() -> None:
    root = {"properties": {"n": {"type": "integer"}, "t": {"properties": {"default": {"$ref": "#/properties/n"}}}}}
    text = schemas.part(root, root["properties"]["t"])
    assert [one.pointer for one in schemas.problems(text, '{"default":"x"}')] == ["/default"]


def test_a_schema_that_repeats_itself_by_name_is_laid_out() -> None:
    node = {
        "$dynamicAnchor": "node",
        "type": "object",
        "properties": {"v": {"type": "string"}, "kids": {"type": "array", "items": {"$dynamicRef": "#node"}}},
    }
    form = Filled(node, '{"kids":[{"v":"b"}]}')
    form.press("add:v/kids")
    form.page.type("/kids/1/v", "c")
    assert form.read().text == '{"kids":[{"v":"b"},{"v":"c"}]}'


TWO_CONDITIONS = {
    "type": "object",
    "properties": {"k": {"enum": ["card", "bank"]}},
    "allOf": [
        {"if": {"properties": {"k": {"const": "card"}}}, "then": {"properties": {"pan": {"type": "string"}}}},
        {"if": {"properties": {"k": {"const": "bank"}}}, "then": {"properties": {"iban": {"type": "string"}}}},
    ],
}


def test_each_of_several_conditions_brings_its_members() -> None:
    shapes = [
        {"title": "pay", **TWO_CONDITIONS},
        {"title": "wait", "type": "object", "properties": {"k": {"const": 0}}},
    ]
    form = Filled({"properties": {"a": {"oneOf": shapes}}}, '{"a":{"k":"bank"}}')
    form.page.type("/a/iban", "KR1")
    assert form.read().text == '{"a":{"k":"bank","iban":"KR1"}}'


@pytest.mark.parametrize("name", ["pan", "iban"])
def test_edits_may_name_what_any_condition_brings(name: str) -> None:
    schema = {"properties": {"approved": {"type": "boolean"}, "editedArgs": TWO_CONDITIONS}}
    kit = standard_kit(reason="tool_call", schema=json.dumps(schema), has_call=True, proposal='{"k":"card"}')
    answer = kit.answer("approved", proposal='{"k":"card"}', edits=f'{{"k":"card","{name}":"1"}}')
    assert answer == f'{{"approved":true,"editedArgs":{{"k":"card","{name}":"1"}}}}'


def test_a_number_too_large_for_programs_is_told_as_that() -> None:
    form = Filled({"properties": {"n": {"type": "number"}}})
    form.page.type("/n", "1e400")
    assert [one.message for one in form.read().problems] == ["This number is larger than programs can carry."]


def test_json_that_is_none_is_told_at_its_field_and_stays_as_typed() -> None:
    form = Filled({"properties": {"any": {}, "list": {"type": "array", "items": {}}}}, '{"list":[1]}')
    form.page.type("/any", "out")
    form.page.type("/list/0", "[1")
    read = form.read()
    assert (read.text, [one.pointer for one in read.problems]) == (None, ["/any", "/list/0"])
    assert form.shown(form.page.posted()).values["v/any"] == "out"

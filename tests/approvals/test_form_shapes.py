"""What schemas can ask for, laid out without a script: lists in any order, tuples, maps, conditions, kept places."""

from __future__ import annotations

from typing import Any

import pytest

from approvals import schemas
from tests.approvals.formpage import Filled

LIST = {"properties": {"l": {"type": "array", "items": {"type": "string"}}}}


def kinds(form: Filled) -> dict[str, str]:
    return {one.pointer: one.kind for one in form.tree.root.walk()}


def test_items_change_places_and_keep_their_bytes() -> None:
    form = Filled(LIST, '{"l":["a", "\\u0062" ,  "c"]}')
    form.press("up:v/l/2")
    form.press("up:v/l/2")
    assert form.read().text == '{"l":["c", "a" ,  "\\u0062"]}'
    form.press("down:v/l/2")
    form.press("down:v/l/2")
    read = form.read()
    assert (read.text, read.touched) == ('{"l":["a", "\\u0062" ,  "c"]}', set())


def test_a_new_item_is_moved_up_and_a_problem_finds_it_there() -> None:
    form = Filled({"properties": {"l": {"type": "array", "items": {"type": "integer"}}}}, '{"l":[1,2]}')
    form.press("add:v/l")
    form.page.type("/l/2", "3")
    form.press("up:v/l/2")
    form.press("remove:v/l/0")
    read = form.read()
    assert read.text == '{"l":[3,2]}'
    assert [read.place("/l/0"), read.place("/l/1")] == ["/l/2", "/l/1"]


def test_a_tuple_has_a_place_for_each_of_its_schemas() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}
    form = Filled({"properties": {"p": pair}})
    assert form.read().text == "{}"
    form.page.type("/p/1", "5")
    assert [one.pointer for one in form.read().problems] == ["/p/0"]
    form.page.type("/p/0", "x")
    assert form.read().text == '{"p":["x",5]}'
    assert "add:v/p" not in form.page.buttons and "up:v/p/1" not in form.page.buttons


def test_an_older_tuple_takes_more_of_what_stands_behind_it() -> None:
    pair = {"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "integer"}}
    old = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"p": pair}}
    form = Filled(old, '{"p":["x"]}')
    form.press("add:v/p")
    form.page.type("/p/1", "7")
    assert form.read().text == '{"p":["x",7]}'


def test_a_new_list_begins_with_what_it_must_have_and_ends_at_what_it_may() -> None:
    few = {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}
    form = Filled({"properties": {"l": few}, "required": ["l"]})
    form.page.type("/l/0", "1")
    form.press("add:v/l")
    assert "add:v/l" not in form.page.buttons
    form.page.type("/l/1", "2")
    assert form.read().text == '{"l":[1,2]}'


MAP = {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False, "type": "object"}


def test_members_of_a_map_are_laid_out_by_the_pattern_of_their_name() -> None:
    form = Filled(MAP, '{"x-a":1}')
    form.page.values["v:new"] = "x-b"
    form.press("add:v")
    form.page.type("/x-b", "2")
    assert kinds(form)["/x-b"] == "number"
    assert form.read().text == '{"x-a":1,"x-b":2}'


@pytest.mark.parametrize(
    ("schema", "name"),
    [(MAP, "y"), (MAP, "x-a"), ({"type": "object", "propertyNames": {"maxLength": 2}}, "abc")],
)
def test_a_name_that_may_not_stand_there_is_told_and_kept_for_mending(schema: Any, name: str) -> None:
    form = Filled({"properties": {"m": schema}}, '{"m":{"x-a":1}}')
    form.page.values["v:new/m"] = name
    before = form.read().text
    if "add:v/m" in form.page.buttons:
        form.press("add:v/m")
        assert form.tree.at("/m").problems and form.page.values["v:new/m"] == name
    assert form.read().text == before


def test_a_pattern_without_end_is_asked_once() -> None:
    slow = {"patternProperties": {f"^(a|a|b{at})+$": {"type": "integer"} for at in range(40)}}
    form = Filled(slow, '{"' + "a" * 60 + '!":1,"c":2}')
    assert form.read().text == '{"' + "a" * 60 + '!":1,"c":2}'


def test_what_several_parts_say_of_one_member_is_one_field() -> None:
    parts = [
        {"properties": {"n": {"type": "number", "minimum": 1}}},
        {"properties": {"n": {"minimum": 3, "maximum": 9}}},
    ]
    form = Filled({"allOf": [*parts, {"properties": {"n": {"maximum": 7}}}]})
    assert form.tree.at("/n").kind == "number"
    assert "3 to 7" in form.tree.at("/n").type


def test_of_several_types_one_is_chosen() -> None:
    form = Filled({"properties": {"v": {"type": ["string", "integer", "null"]}}}, '{"v":"7"}')
    assert kinds(form)["/v"] == "text"
    form.page.values["v:branch/v"] = "1"
    form.press("branch:v/v")
    form.page.type("/v", "8")
    assert form.read().text == '{"v":8}'


def test_members_come_with_the_condition_that_asks_for_them() -> None:
    both = {
        "properties": {"kind": {"enum": ["a", "b"]}},
        "if": {"properties": {"kind": {"const": "a"}}},
        "then": {"properties": {"x": {"type": "string"}}},
        "else": {"properties": {"x": {"type": "string"}, "y": {"type": "string"}}},
        "dependentSchemas": {"y": {"properties": {"z": {"type": "string"}}}},
    }
    form = Filled(both)
    for pointer in ("/x", "/y", "/z"):
        form.page.type(pointer, "1")
    form.page.type("/kind", "#0")
    assert form.read().text == '{"kind":"a","x":"1"}'
    form.page.type("/kind", "#1")
    assert form.read().text == '{"kind":"b","x":"1","y":"1","z":"1"}'


def test_a_condition_inside_another_holds_only_when_both_do() -> None:
    inner = {"if": {"required": ["b"]}, "then": {"properties": {"c": {"type": "string"}}}}
    form = Filled(
        {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "if": {"required": ["a"]}, "then": inner}
    )
    form.page.type("/b", "1")
    form.page.type("/c", "1")
    assert form.read().text == '{"b":"1"}'
    form.page.type("/a", "1")
    assert form.read().text == '{"a":"1","b":"1","c":"1"}'


TREE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "next": {"$ref": "#"},
        "kids": {"type": "array", "items": {"$ref": "#"}},
    },
}


def test_a_schema_of_itself_is_opened_as_far_as_somebody_asks() -> None:
    form = Filled(TREE)
    assert kinds(form)["/next/next"] == "raw"
    form.page.type("/next/name", "b")
    form.press("open:v/next/next")
    form.page.type("/next/next/name", "c")
    form.press("add:v/kids")
    form.page.type("/kids/0/name", "k")
    assert form.read().text == '{"next":{"name":"b","next":{"name":"c"}},"kids":[{"name":"k"}]}'


def test_a_default_is_told_and_leaves_only_when_somebody_takes_it() -> None:
    form = Filled({"properties": {"n": {"type": "integer", "default": 5}, "c": {"enum": ["a", "b"], "default": "b"},
                                  "t": {"type": "boolean", "default": True}}})  # fmt: skip
    assert form.read().text == "{}"
    assert "Taken by default" in form.page.source
    for pointer in ("/n", "/c", "/t"):
        form.press(f"use:v{pointer}")
    assert form.read().text == '{"n":5,"c":"b","t":true}'


@pytest.mark.parametrize("hint", [{"readOnly": True}, {"editable": False}])
def test_a_kept_place_is_shown_without_a_control(hint: dict[str, bool]) -> None:
    form = Filled({"properties": {"id": {"type": "integer", **hint}, "n": {"type": "string"}}}, '{"id":1.0,"n":"x"}')
    assert "/id" not in form.page.pointers and "1.0" in form.page.source
    form.page.type("/n", "y")
    assert form.read().text == '{"id":1.0,"n":"y"}'


def test_limits_examples_and_patterns_stand_at_the_field() -> None:
    asked = {"type": "string", "minLength": 2, "maxLength": 8, "pattern": "^[a-z]+$", "examples": ["abc"]}
    page = Filled({"properties": {"a": asked, "n": {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5}}}).page
    for said in ("2 to 8 characters", "^[a-z]+$", "abc", "more than 0", "in steps of 5"):
        assert said in page.source
    assert page.pointers["/n"]["inputmode"] == "numeric"


def test_typing_inside_a_null_makes_it_an_object_and_saying_both_is_a_problem() -> None:
    form = Filled(
        {"properties": {"o": {"type": ["object", "null"], "properties": {"x": {"type": "string"}}}}}, '{"o":null}'
    )
    form.page.type("/o/x", "1")
    assert form.read().text == '{"o":{"x":"1"}}'
    absent = Filled(form.schema)
    absent.page.type("/o/x", "1")
    absent.page.values["v:state/o"] = "null"
    assert [one.pointer for one in absent.read().problems] == ["/o"]


def test_an_object_with_nothing_to_fill_in_has_what_it_must_have() -> None:
    kept = {
        "type": "object",
        "properties": {"kind": {"const": "x"}, "v": {"type": "object"}},
        "required": ["kind", "v"],
    }
    form = Filled({"properties": {"o": kept}})
    assert form.read().text == "{}"
    form.page.values["v:state/o"] = "empty"
    assert form.read().text == '{"o":{"kind":"x","v":{}}}'


def boxes(**more: Any) -> dict[str, Any]:
    """Some of three values, two of which look alike."""
    tags = {"type": "array", "uniqueItems": True, "items": {"enum": ["1", 1, "c\u202ed"]}, **more}
    return {"type": "object", "properties": {"tags": tags}}


def tick(form: Filled, *numbers: int) -> None:
    """Tick these boxes and no other."""
    for at, option in enumerate(form.tree.at("/tags").options):
        form.page.values.pop(option.value, None)
        form.page.values |= {option.value: "1"} if at in numbers else {}


def test_a_list_of_a_few_values_none_twice_is_boxes_to_tick() -> None:
    form = Filled(boxes(), '{"tags":[ 1 ,"c\u202ed"]}')
    assert [option.chosen for option in form.tree.at("/tags").options] == [False, True, True]
    assert "U+202E</span>" in form.page.source and "add:v/tags" not in form.page.buttons
    assert form.read().text == '{"tags":[ 1 ,"c\u202ed"]}'
    tick(form, 0, 1)
    assert form.read().text == '{"tags":[ 1 ,"1"]}'
    tick(form)
    assert form.read().text == '{"tags":[]}'


def test_nothing_ticked_is_left_out_unless_somebody_says_an_empty_list() -> None:
    form = Filled(boxes())
    assert form.read().text == "{}"
    form.page.values["v:state/tags"] = "empty"
    assert form.read().text == '{"tags":[]}'
    tick(form, 2)
    assert [one.pointer for one in form.read().problems] == ["/tags"]


def test_what_is_wrong_with_the_boxes_stands_at_them() -> None:
    form = Filled(boxes(minItems=2), '{"tags":[1]}')
    assert "at least 2 items" in form.page.source
    wrong = schemas.problems(form.schema_text or "", '{"tags":[1]}')
    page = form.shown(form.page.posted(), problems=wrong)
    assert "There must be at least 2 items." in page.source and 'aria-invalid="true"' in page.source


def test_boxes_survive_other_buttons_and_take_their_default_on_wish() -> None:
    form = Filled(boxes(default=["1", 1]))
    form.press("use:v/tags")
    assert form.read().text == '{"tags":["1",1]}'
    tick(form, 1)
    form.press("to-raw:v")
    assert form.read().text == '{"tags":[1]}' and '"tags"' in form.page.values["v:raw"]


@pytest.mark.parametrize("there", ["[2]", "[1,1]", '"1"', "[[1]]"])
def test_what_boxes_cannot_say_is_shown_as_it_is(there: str) -> None:
    form = Filled(boxes(), f'{{"tags":{there}}}')
    assert form.tree.at("/tags").kind != "ticks"
    assert form.read().text == f'{{"tags":{there}}}'


def test_titled_values_are_ticked_by_their_titles() -> None:
    titled = [{"const": "kr", "title": "Korea"}, {"const": "jp", "title": "Japan"}]
    form = Filled(boxes(items={"oneOf": titled}))
    assert "Korea" in form.page.source
    tick(form, 1)
    assert form.read().text == '{"tags":["jp"]}'

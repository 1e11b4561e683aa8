"""JSON whose bytes survive."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals import jsontext
from approvals.jsontext import JSONTextError, Number

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
ALMOST_JSON = st.text(alphabet='{}[],:"01.-eE+truefalsn\\u \n\x00', max_size=14)
DEEP = "[" * 10_000 + "]" * 10_000


@pytest.mark.parametrize(
    "text",
    (
        *("", "{", "[1,]", '{"a":1,}', '{"a"}', "NaN", "-Infinity", "[1]x", '"\\x"', '"\n"', "01", "-", "1.", ".5"),
        *("+1", "nulll", "\ufeff1", '"abc', "[1 2]", "{,}", '{"a":}', "'a'", "\x0b1", "\u0661"),
    ),
)
def test_what_is_no_json_is_refused_by_every_reader(text: str) -> None:
    for read in (jsontext.parse, jsontext.loads, jsontext.members, jsontext.items, jsontext.pretty):
        with pytest.raises(JSONTextError):
            read(text)


def test_an_error_says_what_and_where() -> None:
    with pytest.raises(JSONTextError) as caught:
        jsontext.loads('{"a": 1,\n "b": tru}')
    assert (caught.value.line, caught.value.column, caught.value.position) == (2, 7, 15)
    assert str(caught.value) == "This is not a JSON value (line 2, column 7)"


@given(ALMOST_JSON)
def test_our_parser_agrees_with_the_standard_one_on_what_json_is(text: str) -> None:
    def refuses(read: Any) -> bool:
        try:
            read(text)
        except ValueError:
            return True
        return False

    strict = refuses(lambda given: json.loads(given, parse_constant=_refuse))
    assert refuses(jsontext.parse) == refuses(jsontext.loads) == refuses(jsontext.items) == strict


def _refuse(constant: str) -> None:
    raise ValueError(constant)


@given(VALUES, st.sampled_from([None, 2]))
def test_every_reader_sees_the_same_value(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert json.loads(jsontext.dumps(jsontext.loads(text))) == value
    assert json.loads(jsontext.pretty(text)) == value
    assert jsontext.same(text, jsontext.dumps(value))
    document = jsontext.parse(text)
    assert json.loads(document.source(document.root)) == value


def test_numbers_and_their_text_are_one() -> None:
    text = "[1.0,1,1e3,-0,123456789012345678901234567890,0.1000]"
    assert jsontext.dumps(jsontext.loads(text)) == text
    assert Number("1") != Number("1.0")
    assert Number("1") != "1"
    assert not jsontext.same("1", "1.0")
    assert not jsontext.same("1", "true")
    assert not jsontext.same("1", '"1"')


def test_plain_numbers_are_exact() -> None:
    value = jsontext.plain(jsontext.loads('{"n":[1,1.10,1e400,12345678901234567890]}'))
    assert value == {"n": [1, Decimal("1.10"), Decimal("1e400"), 12345678901234567890]}
    assert jsontext.plain(Number("9" * 5000)) == Decimal("9" * 5000)
    assert jsontext.plain(Number("-1e99999999999999999999")) < -(10**100)
    assert jsontext.plain(Number("1e-99999999999999999999")) > 0


def test_depth_is_data_and_can_be_limited() -> None:
    assert jsontext.parse(DEEP).depth == 10_000
    assert jsontext.dumps(jsontext.loads(DEEP)) == DEEP
    assert jsontext.same(DEEP, DEEP + " ")
    assert len(jsontext.pretty(DEEP)) < 30_000_000
    assert jsontext.parse("[[1]]", max_depth=2).depth == 2
    with pytest.raises(JSONTextError, match="deeper than 2"):
        jsontext.parse("[[[1]]]", max_depth=2)


@pytest.mark.parametrize("read", [jsontext.parse, jsontext.loads, jsontext.pretty])
def test_deeper_than_anybody_needs_is_text_and_no_value(read: Any) -> None:
    with pytest.raises(JSONTextError, match="deeper than 12000"):
        read('{"a":' * 12_001 + "1" + "}" * 12_001)


def test_repeated_names_are_kept_named_and_the_last_counts() -> None:
    text = '{"x":[{"a":1,"a":2}],"y":0}'
    document = jsontext.parse(text)
    assert document.duplicates == ("/x/0/a",)
    assert document.source(document.at("/x/0/a")) == "2"
    assert jsontext.loads(text)["x"] == [{"a": Number("2")}]
    assert jsontext.replace(text, {"/x/0/a": "3"}) == '{"x":[{"a":1,"a":3}],"y":0}'
    assert jsontext.replace(text, {"/x/0/a": None}) == '{"x":[{}],"y":0}'


def test_names_at_the_top_come_as_often_as_they_are_there_however_they_are_spelled() -> None:
    named = jsontext.named('{"a":1,"b":{"c":1,"c":2},"\\u0061":2}')
    assert named == [("a", "1"), ("b", '{"c":1,"c":2}'), ("a", "2")]
    assert jsontext.named("[1,1]") == []


def test_lone_surrogates_and_line_separators_come_out_escaped() -> None:
    assert jsontext.loads('"\\ud800 \\ud83d\\ude00"') == "\ud800 😀"
    assert jsontext.dumps("\ud800 😀 \u2028\u2029 é") == '"\\ud800 😀 \\u2028\\u2029 é"'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN")])
def test_what_json_cannot_say_is_not_written(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON has no"):
        jsontext.dumps([value])


def test_members_and_items_keep_their_bytes() -> None:
    assert jsontext.members(' { "a" : 1.0 , "b":{"c" : [ ]} , "a":2e1 } ') == {"a": "2e1", "b": '{"c" : [ ]}'}
    assert jsontext.items("[ 1.0,{ }, [2 ,3]]") == ["1.0", "{ }", "[2 ,3]"]
    assert jsontext.member('{"a":"\\u0041"}', "a") == '"\\u0041"'
    assert jsontext.member("[1]", "a") is None
    assert jsontext.items(DEEP) == [DEEP[1:-1]]


def test_pretty_changes_white_space_only() -> None:
    assert jsontext.pretty('{"a":[1.0,{"\\u0041":"x\\""},[ ],{}],"b" : -0}') == (
        '{\n  "a": [\n    1.0,\n    {\n      "\\u0041": "x\\""\n    },\n    [],\n    {}\n  ],\n  "b": -0\n}'
    )


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ('{ "a": 1,\n  "b":2 }', {"/a": "1.0"}, '{ "a": 1.0,\n  "b":2 }'),
        ('{"a": 1, "b": 2}', {"/c": "3", "/d": "4"}, '{"a": 1, "b": 2, "c": 3, "d": 4}'),
        ('{\n  "a": 1\n}', {"/c": "3"}, '{\n  "a": 1,\n  "c": 3\n}'),
        ('{"a":1, "b":2, "c":3}', {"/a": None, "/b": None}, '{"c":3}'),
        ('{"a":1, "b":2, "c":3}', {"/b": None, "/c": None}, '{"a":1}'),
        ('{ "a":1 }', {"/a": None}, "{}"),
        ('{ "a":1 }', {"/a": None, "/b": "2"}, '{"b":2}'),
        ("[1, 2, 3]", {"/0": None, "/2": "9", "/-": "4"}, "[2, 9, 4]"),
        ("[1,2]", {"/7": "3"}, "[1,2,3]"),
        ('{"a":{"b":1}}', {"/a": '{"q":2}', "/a/b": "3"}, '{"a":{"q":2,"b":3}}'),
        ("{}", {"/a/b": "1"}, '{"a":{"b":1}}'),
        ("{}", {"/a/b": None, "/c": None}, "{}"),
        ('{"a/b":{"~":1}}', {"/a~1b/~0": "2"}, '{"a/b":{"~":2}}'),
        ("1", {"": "[1]", "/0": "2"}, "[2]"),
        ('{"a: ":1,"b":[{"x":1}]}', {"/b/0": None, "/c": "2"}, '{"a: ":1,"b":[],"c":2}'),
    ],
)
def test_replace_touches_only_its_places(text: str, changes: dict[str, str | None], expected: str) -> None:
    assert jsontext.replace(text, changes) == expected


@pytest.mark.parametrize("changes", [{"": None}, {"/a/b": "1"}])
def test_replace_refuses_what_has_no_place(changes: dict[str, str | None]) -> None:
    with pytest.raises(LookupError):
        jsontext.replace('{"a":1}', changes)


def test_replace_takes_json_only() -> None:
    with pytest.raises(JSONTextError):
        jsontext.replace('{"a":1}', {"/a": "1}"})


@given(st.dictionaries(st.sampled_from("abcde"), VALUES, max_size=5), st.data())
def test_replace_equals_changing_the_value(value: dict[str, Any], data: st.DataObject) -> None:
    changes = data.draw(st.dictionaries(st.sampled_from("abcdef"), st.none() | VALUES.map(json.dumps), max_size=4))
    text = json.dumps(value, indent=data.draw(st.sampled_from([None, 1])))
    expected = {name: item for name, item in value.items() if name not in changes or changes[name] is not None}
    expected |= {name: json.loads(new) for name, new in changes.items() if new is not None}
    assert json.loads(jsontext.replace(text, {f"/{name}": new for name, new in changes.items()})) == expected


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ('{"a":1,"b":{"c":[1,2]}}', '{"b":{"c":[1,3]},"a":1}', ["/b/c/1"]),
        ('{"a":1}', '{"a":1.0}', ["/a"]),
        ('{"a":1,"b":1}', '{"b":1,"c":true}', ["/a", "/c"]),
        ("[1,2]", "[1]", ["/1"]),
        ('{"a":"A"}', '{ "a" : "\\u0041" }', []),
        ('{"a":{}}', '{"a":[]}', ["/a"]),
        ("1", "true", [""]),
        ('{"x/y":{"~":1}}', '{"x/y":{"~":null}}', ["/x~1y/~0"]),
    ],
)
def test_changed_paths_are_the_smallest(before: str, after: str, paths: list[str]) -> None:
    assert jsontext.changed_paths(before, after) == paths


@given(st.lists(st.text(max_size=4)))
def test_pointers_come_back(names: list[str]) -> None:
    assert jsontext.parts(jsontext.pointer(*names)) == names

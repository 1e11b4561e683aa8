"""Forms for foreign JSON: what comes back is what was there, but for what a person changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals import forms, jsontext
from approvals.kit import Unanswerable, standard_kit
from approvals.schemas import Problem
from tests.approvals.formpage import Filled, FormPage, draw

CASES = Path(__file__).parent.parent / "cases"


def rows() -> list[Any]:
    """Every row of answers.json whose case tells its schema apart."""
    found = []
    for folder in sorted(CASES.iterdir()):
        if not (folder / "answers.json").is_file() or not (folder / "schema.json").is_file():
            continue
        schemas = json.loads((folder / "schema.json").read_text())
        for row in json.loads((folder / "answers.json").read_text()):
            schema = schemas[row["interrupt"]] if "interrupt" in row else schemas
            found.append(pytest.param(schema, row, id=f"{folder.name} {row['name']}"))
    return found


def act(page: FormPage, pointer: str, acts: dict[str, Any]) -> None:
    for name, value in acts.items():
        if name in ("type", "choose", "choose_value", "raw"):
            page.type(pointer, value if isinstance(value, str) else json.dumps(value))
        elif name == "choose_index":
            page.type(pointer, f"#{value}")
        elif name == "check":
            page.tick(pointer)
        elif name == "choose_null":
            page.choose_null(pointer)
        else:
            raise AssertionError(name)


def answer_to(schema: Any, row: dict[str, Any]) -> str | None:
    """The answer that leaves when the row is played on the form; None if it is refused."""
    form = Filled(schema)
    for group in row["input"] if isinstance(row.get("input"), list) else [row.get("input", {})]:
        for pointer, acts in group.items():
            act(form.page, pointer, acts)
    if "raw" in row:
        form.page.values["v:raw"] = row["raw"]
    read = form.read()
    if read.problems:
        return None
    kit = standard_kit(reason="input_required", schema=form.schema_text, has_call=False, proposal=None)
    try:
        return kit.answer("answered", proposal=None, input=read.text)
    except Unanswerable:
        return None


@pytest.mark.parametrize(("schema", "row"), rows())
def test_rows_of_the_field_cases_come_out_as_they_must(schema: Any, row: dict[str, Any]) -> None:
    answer = answer_to(schema, row)
    if row["accept"] is not True:
        assert row["accept"] == "either" or answer is None or "payload_any_of" in row
    elif "payload_value" in row:
        assert json.loads(answer or "") == row["payload_value"]
    elif "payload_any_of" not in row:  # those may be refused with a hint
        assert answer is not None and jsontext.same(answer, row["payload_text"])
    assert not [word for word in row.get("never", []) if word in (answer or "")]


@pytest.mark.parametrize(
    ("case", "at"),
    [("num-02-float-looks-like-int", 0), ("edt-03-white-space", 0), ("edt-03-white-space", 1)]
    + [("edt-09-strings-that-look-like-more", at) for at in range(3)]
    + [("exp-07-date-time-field", 0)],
)
def test_edits_of_the_field_cases_change_their_place_only(case: str, at: int) -> None:
    row = json.loads((CASES / case / "edits.json").read_text())[at]
    form = Filled(None, (CASES / case / "args.txt").read_bytes().decode())
    for pointer, text in row["set"].items():
        form.page.type(pointer, text)
    read = form.read()
    assert read.text == row["edited_args_text"]
    assert read.touched == set(row["set"])


@pytest.mark.parametrize("typed", ["3.0", "3e0", "3.5"])
def test_a_whole_number_is_typed_in_digits(typed: str) -> None:
    form = Filled({"properties": {"n": {"type": "integer"}, "x": {"type": "number"}}}, '{"n":2.0,"x":1}')
    form.page.type("/x", typed)
    assert form.read().text == f'{{"n":2.0,"x":{typed}}}'
    form.page.type("/n", typed)
    assert [one.pointer for one in form.read().problems] == ["/n"]
    form.page.type("/n", "-7")
    assert form.read().text == f'{{"n":-7,"x":{typed}}}'


TWELVE: list[tuple[Any, str]] = [
    ({"properties": {"at": {"type": "string", "format": "date-time"}, "text": {"type": "string"}}},
     '{"at":"2030-01-02T03:04:05.123+09:00","text":"one\\r\\ntwo\\n\\n"}'),
    ({"properties": {"e": {"enum": [1, "1", None, ""]}, "c": {"const": 2}}}, '{"e":"1","c":2.0}'),
    ({"properties": {"n": {"type": "number"}, "i": {"type": "integer"}}}, '{"n":1e21,"i":1.50}'),
    ({"properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}, "{}"),
    ({"properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}}, '{"a":{"b":"","x":[1,{}]}}'),
    ({"properties": {"l": {"type": "array", "items": {"type": "string"}}, "t": {"prefixItems": [{"type": "string"}]}}},
     '{"l":["", " "],"t":["a",1,null]}'),
    ({"additionalProperties": {"type": "integer"}}, '{"a.b[0]/~":1,"":2,"constructor":3,"\\ud55c":4}'),
    ({"properties": {"a": {"type": ["string", "null"]}, "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}},
     '{"a":null,"b":9007199254740993}'),
    ({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}},
     '{"next":{"next":{"next":{}}}}'),
    ({"$ref": "https://x.example/", "title": "<script>"}, '{"a":"<b>&amp;\\u0000\\ud800\\u200b"}'),
    ({"type": "object"}, '{"free":{"form":[true,false,null,1.0]}}'),
    ({"if": {"required": ["a"]}, "then": {"properties": {"b": {"type": "string"}}}}, '{"a":1,"b":"x"}'),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value"), TWELVE, ids=[str(at) for at in range(1, 13)])
def test_an_untouched_form_is_the_value_byte_for_byte(schema: Any, value: str) -> None:
    form = Filled(schema, value)
    read = form.read()
    assert (read.text, read.problems, read.touched) == (value, [], set())
    assert Filled(None, value).read().text == value


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9)
)
ANY = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=9,
)


@settings(max_examples=150, deadline=None)
@given(ANY, st.sampled_from([None, *(schema for schema, _value in TWELVE)]))
def test_no_value_is_changed_by_a_browser(value: Any, schema: Any) -> None:
    text = json.dumps(value)
    read = Filled(schema, text).read()
    assert (read.text, read.problems) == (text, [])


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(max_size=5), ANY, max_size=4))
def test_changing_one_place_changes_no_other(value: dict[str, Any]) -> None:
    text = json.dumps({"mine": "x", **{name: item for name, item in value.items() if name != "mine"}})
    form = Filled(None, text)
    if "/mine" in form.page.pointers:
        form.page.type("/mine", "y")
        assert form.read().text == text.replace('"mine": "x"', '"mine": "y"')


def test_typed_numbers_keep_their_text_and_bad_ones_are_told_at_their_place() -> None:
    form = Filled(None, '{"n":1.0,"m":2}')
    form.page.type("/n", " -12345678901234567890.50 ")
    assert form.read().text == '{"n":-12345678901234567890.50,"m":2}'
    form.page.type("/n", "1,5")
    read = form.read()
    assert [problem.pointer for problem in read.problems] == ["/n"]
    shown = form.shown(form.page.posted(), problems=read.problems)
    assert shown.values["v/n"] == "1,5"
    assert shown.pointers["/n"]["aria-invalid"] == "true"


def test_null_empty_and_left_out_are_three_things() -> None:
    schema = {"properties": {"a": {"type": ["string", "null"]}, "b": {"type": "string"}}}
    for state, text in (("", "{}"), ("empty", '{"a":""}'), ("null", '{"a":null}')):
        form = Filled(schema)
        form.page.values["v:state/a"] = state
        assert form.read().text == text
    there = Filled(schema, '{"a":"x","b":"y"}')
    there.page.type("/b", "")
    assert there.read().text == '{"a":"x","b":""}'
    there.page.values["v:state/b"] = "out"
    assert there.read().text == '{"a":"x"}'


def test_typing_over_a_null_makes_it_a_text() -> None:
    form = Filled({"properties": {"a": {"type": ["string", "null"]}}}, '{"a":null}')
    form.page.type("/a", "x")
    assert form.read().text == '{"a":"x"}'


def test_items_are_taken_out_put_back_and_added_without_a_script() -> None:
    form = Filled({"properties": {"l": {"type": "array", "items": {"type": "string"}}}}, '{"l":["a", "b", "c"]}')
    form.press("remove:v/l/0")
    form.press("add:v/l")
    form.page.type("/l/3", "d")
    assert form.read().text == '{"l":["b", "c", "d"]}'
    form.press("restore:v/l/0")
    form.press("remove:v/l/3")
    read = form.read()
    assert (read.text, read.touched) == ('{"l":["a", "b", "c"]}', set())


def test_a_problem_behind_an_item_taken_out_finds_its_field() -> None:
    form = Filled({"properties": {"l": {"type": "array", "items": {"type": "integer"}}}}, '{"l":[1,2,3]}')
    form.press("remove:v/l/0")
    form.page.type("/l/2", "30")
    read = form.read()
    assert read.text == '{"l":[2,30]}'
    assert read.place("/l/1") == "/l/2"


def test_objects_can_be_items_and_an_empty_new_item_is_asked_for() -> None:
    schema = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}
    form = Filled({"properties": {"l": schema}})
    form.press("add:v/l")
    form.page.type("/l/0/n", "5")
    assert form.read().text == '{"l":[{"n":5}]}'
    numbers = Filled({"properties": {"l": {"type": "array", "items": {"type": "number"}}}})
    numbers.press("add:v/l")
    assert [problem.pointer for problem in numbers.read().problems] == ["/l/0"]


def test_a_map_takes_new_members() -> None:
    form = Filled({"additionalProperties": {"type": "integer"}}, '{"a":1}')
    form.page.values["v:new"] = "b/c"
    form.press("add:v")
    form.page.type("/b~1c", "2")
    assert form.read().text == '{"a":1,"b/c":2}'
    form.press("remove:v/b~1c")
    assert form.read().text == '{"a":1}'


CARD = {
    "title": "Card",
    "properties": {"kind": {"const": "card"}, "number": {"type": "string"}},
    "required": ["kind", "number"],
}
BANK = {
    "title": "Bank",
    "properties": {"kind": {"const": "bank"}, "iban": {"type": "string"}},
    "required": ["kind", "iban"],
}
PAY = {
    "properties": {
        "pay": {"oneOf": [{**CARD, "type": "object"}, {**BANK, "type": "object"}]},
        "sum": {"type": "integer"},
    }
}


def test_the_branch_of_the_value_is_open_and_another_one_starts_afresh() -> None:
    form = Filled(PAY, '{"pay":{"kind":"bank","iban":"KR1"},"sum":5}')
    assert form.page.values["v:branch/pay"] == "1"
    form.page.type("/pay/iban", "KR2")
    assert form.read().text == '{"pay":{"kind":"bank","iban":"KR2"},"sum":5}'
    form.page.values["v:branch/pay"] = "0"
    form.press("branch:v/pay")
    form.page.type("/pay/number", "4000")
    assert form.read().text == '{"pay":{"kind":"card","number":"4000"},"sum":5}'


def test_raw_json_counts_when_it_alone_was_changed() -> None:
    form = Filled(None, '{"a":1,"b":"x"}')
    form.page.values["v:raw"] = ' {"a":1.0} '
    assert form.read().text == '{"a":1.0}'
    form.page.type("/b", "y")
    assert form.read().problems == [
        Problem("", "Both the fields and the raw JSON were changed. Say at the raw JSON which of the two counts.")
    ]
    broken = Filled(None, '{"a":1}')
    broken.page.values["v:raw"] = '{"a":'
    assert "not JSON" in broken.read().problems[0].message


@pytest.mark.parametrize("schema", [None, {}, True, {"type": "array"}, {"type": "null"}])
def test_with_nothing_to_build_from_there_is_one_box_of_json(schema: Any) -> None:
    form = Filled(schema)
    assert form.tree.only_raw
    form.page.values["v:raw"] = "[1.0]"
    assert form.read().text == "[1.0]"


@pytest.mark.parametrize(
    "value",
    ['{"a":"\\u0000"}', '{"a":"\\ud800"}', '{"a\\n":1}', '{"a":1,"a":2}', '{"n":' + "[" * 40 + "]" * 40 + "}"],
)
def test_what_a_control_cannot_carry_is_raw_and_survives(value: str) -> None:
    form = Filled(None, value)
    assert any(field.kind == "raw" and field.reason for field in form.tree.root.walk())
    assert form.read().text == value


def test_a_value_of_another_type_is_shown_raw_and_never_coerced() -> None:
    form = Filled({"properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}, '{"n":"7","s":3}')
    assert {field.pointer: field.kind for field in form.tree.root.children} == {"/n": "raw", "/s": "raw"}
    form.page.type("/n", "8")
    assert form.read().text == '{"n":8,"s":3}'


def test_an_unticked_constant_goes_and_a_ticked_one_comes() -> None:
    schema = {"properties": {"ack": {"const": True}, "v": {"const": 2}}, "required": ["v"]}
    form = Filled(schema)
    assert form.read().text == '{"v":2}'
    form.page.tick("/ack")
    assert form.read().text == '{"ack":true,"v":2}'
    there = Filled(schema, '{"ack":true,"v":2}')
    del there.page.values["v/ack"]
    assert there.read().text == '{"v":2}'


def test_what_a_given_object_lacks_is_not_added_for_anybody() -> None:
    schema = {"properties": {"a": {"type": "string"}, "l": {"type": "array", "items": {"type": "string"}}}}
    form = Filled({**schema, "required": ["a", "l"]}, '{"a":"x"}')
    form.page.type("/a", "y")
    assert form.read().text == '{"a":"y"}'
    assert Filled({**schema, "required": ["l"]}).read().text == '{"l":[]}'


def test_optional_parts_nobody_filled_in_stay_away() -> None:
    inner = {"type": "object", "properties": {"x": {"type": "string"}, "k": {"const": 1}}, "required": ["k"]}
    form = Filled({"properties": {"o": inner, "p": inner}, "required": ["p"]})
    assert form.read().text == '{"p":{"k":1}}'
    form.page.type("/o/x", "y")
    assert form.read().text == '{"o":{"x":"y","k":1},"p":{"k":1}}'


def test_a_secret_is_not_echoed_in_the_open_and_no_control_is_remembered() -> None:
    form = Filled({"properties": {"otp": {"type": "string", "format": "password"}, "x": {"enum": [1]}}})
    assert form.page.pointers["/otp"]["type"] == "password"
    assert all(given["autocomplete"] == "off" for given in form.page.pointers.values())


def test_foreign_words_are_never_markup() -> None:
    evil = "<img src=x onerror=alert(1)>"
    schema = {
        "title": evil,
        "properties": {evil: {"type": "string", "description": evil, "format": evil}, "e": {"enum": [evil]}},
    }
    page = Filled(schema, json.dumps({evil: evil, "other": evil})).page
    assert "<img" not in page.source
    assert f"/{evil}" in page.pointers


def test_two_forms_of_one_page_do_not_mix() -> None:
    edits, answer = (
        Filled(None, '{"a":"1"}', prefix="edits"),
        Filled({"properties": {"a": {"type": "string"}}}, prefix="input"),
    )
    edits.page.type("/a", "2")
    answer.page.type("/a", "3")
    post = edits.page.posted() | answer.page.posted()
    assert forms.read(post, None, '{"a":"1"}', prefix="edits").text == '{"a":"2"}'
    assert forms.read(post, answer.schema_text, None, prefix="input").text == '{"a":"3"}'
    assert not set(edits.page.ids) & set(answer.page.ids)


def test_a_form_has_an_end() -> None:
    wide = Filled({"properties": {f"p{at}": {"type": "string"} for at in range(2000)}})
    assert sum(1 for _field in wide.tree.root.walk()) < 400
    endless: dict[str, Any] = {"type": "object", "properties": {f"c{at}": {"$ref": "#"} for at in range(3)}}
    assert sum(1 for _field in Filled(endless).tree.root.walk()) < 400
    assert draw(forms.build(None, '{"a":' * 9 + "1" + "}" * 9)).pointers

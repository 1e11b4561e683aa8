"""Fields and raw JSON are one value: each follows the other, and neither is lost without a word."""

from __future__ import annotations

import pytest

from approvals import jsontext
from approvals.forms import fields, syncing
from tests.approvals.formpage import Filled

ARGS = '{"to": "a@b.c","n":  1.0,"list":[1,2,3]}'


def form() -> Filled:
    return Filled({"properties": {"to": {"type": "string"}, "n": {"type": "number"}}}, ARGS)


def test_what_is_typed_in_a_field_shows_in_the_raw_json() -> None:
    args = form()
    args.page.type("/to", "x@b.c")
    args.press("to-raw:v")
    assert '"to": "x@b.c"' in args.page.values["v:raw"]
    assert args.read().text == ARGS.replace("a@b.c", "x@b.c")


def test_what_is_typed_as_raw_json_shows_in_the_fields_and_the_rest_keeps_its_bytes() -> None:
    args = form()
    args.page.values["v:raw"] = args.page.values["v:raw"].replace("1.0", "2.50")
    args.press("to-fields:v")
    assert args.page.values["v/n"] == "2.50"
    assert args.read().text == ARGS.replace("1.0", "2.50")


def test_one_half_may_be_changed_after_the_other_without_a_round() -> None:
    raw_first = form()
    raw_first.page.values["v:raw"] = raw_first.page.values["v:raw"].replace("1.0", "2")
    raw_first.press("to-fields:v")
    raw_first.page.type("/to", "x")
    assert raw_first.read().text == ARGS.replace("1.0", "2").replace("a@b.c", "x")
    fields_first = form()
    fields_first.page.type("/to", "x")
    fields_first.press("to-raw:v")
    fields_first.page.values["v:raw"] = fields_first.page.values["v:raw"].replace("1.0", "3")
    assert fields_first.read().text == ARGS.replace("1.0", "3").replace("a@b.c", "x")


def test_a_value_of_megabytes_stands_on_the_page_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "LONGEST_TWICE", len(ARGS) - 1)
    args = form()
    assert "v:raw" not in args.page.values and args.page.source.count("a@b.c") == 1
    assert args.read().text == ARGS
    args.page.type("/to", "x@b.c")
    args.press("show:v")
    assert args.read().text == ARGS.replace("a@b.c", "x@b.c")


def test_a_long_value_without_fields_keeps_its_raw_box(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "LONGEST_TWICE", 1)
    args = Filled(None, "[1")
    assert args.tree.only_raw and args.page.values["v:raw"] == "[1"


def changed_apart() -> Filled:
    args = form()
    args.page.type("/to", "fields")
    args.page.values["v:raw"] = args.page.values["v:raw"].replace("a@b.c", "raw")
    return args


def test_halves_changed_apart_are_nobodys_guess() -> None:
    read = changed_apart().read()
    assert read.text is None
    assert "which of the two counts" in read.problems[0].message


@pytest.mark.parametrize(("action", "wins"), [("to-raw:v", "fields"), ("to-fields:v", "raw")])
def test_the_half_that_is_chosen_counts_and_the_loss_of_the_other_is_said(action: str, wins: str) -> None:
    args = changed_apart()
    args.press(action)
    assert args.tree.notice and args.tree.notice in args.page.source
    assert args.read().text == ARGS.replace("a@b.c", wins)


def test_raw_json_that_is_none_is_told_and_stays_as_typed() -> None:
    args = form()
    args.page.values["v:raw"] = '{"to":'
    args.press("to-fields:v")
    assert args.tree.raw_problems and args.page.values["v:raw"] == '{"to":'
    assert args.page.values["v/to"] == "a@b.c"


def test_a_field_that_cannot_be_read_keeps_the_raw_json_as_it_was() -> None:
    args = form()
    before = args.page.values["v:raw"]
    args.page.type("/n", "one")
    args.press("to-raw:v")
    assert args.page.values["v:raw"] == before
    assert args.page.pointers["/n"]["aria-invalid"] == "true"


def test_the_changes_are_told_before_anything_is_decided() -> None:
    args = form()
    args.page.type("/to", "x")
    args.press("to-raw:v")
    assert [(one.pointer, one.kind) for one in args.tree.changes] == [("/to", "changed")]


def test_an_answer_from_nothing_goes_both_ways() -> None:
    answer = Filled({"type": "object", "properties": {"a": {"type": "string"}}})
    answer.page.values["v:raw"] = '{"a":"one"}'
    answer.press("to-fields:v")
    assert answer.page.values["v/a"] == "one"
    answer.page.type("/a", "two")
    answer.press("to-raw:v")
    assert jsontext.same(answer.page.values["v:raw"], '{"a":"two"}')
    assert answer.read().text == '{"a":"two"}'


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        ('{"a":1 , "b":2}', '{\n "a": 1,\n "b": 3\n}', '{"a":1 , "b":3}'),
        ('{"a":[1 ,2, 3]}', '{"a":[1,3]}', '{"a":[1 ,3]}'),
        ('{"a":1,"b":2}', '{"b":2,"a":1}', '{"b":2,"a":1}'),
        ('{"a":1}', '{"a":1,"a":2}', '{"a":1,"a":2}'),
        ("{", "[1]", "[1]"),
    ],
)
def test_a_new_writing_keeps_the_old_bytes_where_it_says_the_same(before: str, after: str, written: str) -> None:
    assert syncing.rebased(before, after) == written

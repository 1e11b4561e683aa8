"""What an edit changed."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals import jsontext
from approvals.foreign.diff import Change, Piece, argument_diff, side_by_side


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ('{"a":1}', '{"a":1.0}', [Change("/a", "changed", "number", "1", "1.0")]),
        ('{"a":1}', '{"a":true}', [Change("/a", "changed", "number → boolean", "1", "true")]),
        ('{"a":true}', '{"a":false}', [Change("/a", "changed", "boolean", "true", "false")]),
        ('{"a":[1,2]}', '{"a":[1]}', [Change("/a/1", "removed", "number", "2", None)]),
        ("{}", '{"a/b":{"c": []}}', [Change("/a~1b", "added", "object", None, '{"c": []}')]),
        ('{"a":1,"b":2}', '{ "b":2, "a":1 }', []),
        ("[1,2,3]", "[2,3]", [Change("/0", "removed", "number", "1", None)]),
        ("[1,2,3]", "[3,1,2]", [Change("/0", "moved", "number", "3", "3", "/2")]),
        ("[1,2]", "[1,5,2]", [Change("/1", "added", "number", None, "5")]),
        ('[0,{"a":1}]', '[{"a":2}]', [
            Change("/0", "changed", "number → object", "0", '{"a":2}'),
            Change("/1", "removed", "object", '{"a":1}', None),
        ]),
        ('{"l":["x",{"a":1},"y"]}', '{"l":[{"a": 1},"y","x"]}', [
            Change("/l/2", "moved", "string", '"x"', '"x"', "/l/0"),
        ]),
        ('{"a":"A"}', '{"a":"\\u0041"}', []),
    ],
)
def test_changes_are_told_by_place_with_the_bytes_of_both_sides(before: str, after: str, changes: list[Change]) -> None:
    assert argument_diff(before, after) == changes


def test_words_are_marked_inside_lines_that_changed() -> None:
    same, changed = side_by_side('{\n  "amount": 1840.00', '{\n  "amount": 1480.00')
    assert not same.changed
    assert [piece for piece in changed.before if piece.marked] == [Piece("1840", True)]
    assert [piece for piece in changed.after if piece.marked] == [Piece("1480", True)]


def test_a_line_that_only_one_side_has_stands_alone() -> None:
    rows = side_by_side("a\nb\nc", "a\nc")
    assert [(row.before, row.after) for row in rows if row.changed] == [((Piece("b", True),), ())]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(VALUES, VALUES)
def test_there_is_a_change_exactly_where_two_texts_are_not_the_same(before: Any, after: Any) -> None:
    old, new = json.dumps(before), json.dumps(after)
    assert (argument_diff(old, new) == []) is jsontext.same(old, new)
    assert argument_diff(old, json.dumps(before, indent=2)) == []


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_is_lost_on_either_side(before: str, after: str) -> None:
    rows = side_by_side(before, after)
    assert "".join(piece.text for row in rows for piece in row.before) == "".join(before.splitlines())
    assert "".join(piece.text for row in rows for piece in row.after) == "".join(after.splitlines())


@pytest.mark.parametrize("line", ["x y " * 20_000, "0,\n" * 50_000, ("0 x " * 100 + "\n") * 1000])
def test_large_texts_cost_no_seconds(line: str) -> None:
    began = time.process_time()
    assert side_by_side(line, line.replace("0", "1").replace("x", "z"))
    assert time.process_time() - began < 10


def test_a_deep_difference_is_found_without_recursion() -> None:
    deep = "[" * 5_000 + "1" + "]" * 5_000
    (change,) = argument_diff(deep, deep.replace("1", "2"))
    assert (change.before_text, change.after_text) == ("1", "2")
    assert json.loads(change.after_text) == 2

"""JSON Patch on values whose numbers keep their text."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbridge.wire.patching import MOST_COPIED, Patched, PatchError
from approvals import jsontext


def patched(text: str, patch: str) -> str:
    value = Patched(jsontext.loads(text))
    value.apply(jsontext.loads(patch))
    return jsontext.dumps(value.value)


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        ('{"a":1}', '[{"op":"add","path":"/b","value":1.0}]', '{"a":1,"b":1.0}'),
        ('{"a":[1]}', '[{"op":"add","path":"/a/-","value":2},{"op":"add","path":"/a/0","value":0}]', '{"a":[0,1,2]}'),
        ('{"a":[1,2]}', '[{"op":"remove","path":"/a/0"}]', '{"a":[2]}'),
        ('{"a":1,"b":2}', '[{"op":"replace","path":"/a","value":{"x":null}}]', '{"a":{"x":null},"b":2}'),
        ('{"a":{"b":1}}', '[{"op":"move","from":"/a/b","path":"/c"}]', '{"a":{},"c":1}'),
        (
            '{"a":[1]}',
            '[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/-","value":2}]',
            '{"a":[1],"b":[1,2]}',
        ),
        ('{"n":1.0}', '[{"op":"test","path":"/n","value":1},{"op":"remove","path":"/n"}]', "{}"),
        ('{"a/b":{"~":1}}', '[{"op":"replace","path":"/a~1b/~0","value":"x"}]', '{"a/b":{"~":"x"}}'),
        ("{}", '[{"op":"add","path":"","value":[1]},{"op":"add","path":"/0","value":0}]', "[0,1]"),
        ('{"":{"":1}}', '[{"op":"replace","path":"//","value":2}]', '{"":{"":2}}'),
        ("{}", '[{"op":"add","path":"/__proto__","value":{"p":1}}]', '{"__proto__":{"p":1}}'),
        ("{}", '[{"op":"explode","path":"/x"},{"op":"add","path":"/y","value":1}]', '{"y":1}'),
    ],
)
def test_a_patch_that_applies(before: str, patch: str, after: str) -> None:
    assert patched(before, patch) == after


@pytest.mark.parametrize(
    "last",
    [
        '{"op":"replace","path":"/gone","value":1}',
        '{"op":"remove","path":"/list/2"}',
        '{"op":"remove","path":"/list/01"}',
        '{"op":"add","path":"/list/3","value":1}',
        '{"op":"add","path":"/n/x","value":1}',
        '{"op":"add","path":"n","value":1}',
        '{"op":"add","path":"/x"}',
        '{"op":"test","path":"/n","value":"1"}',
        '{"op":"test","path":"/n","value":true}',
        '{"op":"test","path":"/list","value":["a"]}',
        '{"op":"move","from":"/o","path":"/o/in"}',
        '{"op":"remove","path":""}',
        '{"path":"/x"}',
        '"add"',
    ],
)
def test_a_patch_that_fails_leaves_no_trace(last: str) -> None:
    text = '{"n":1,"list":["a","b"],"o":{"in":1},"last":null}'
    changes = (
        '[{"op":"add","path":"/new","value":1},{"op":"remove","path":"/n"},{"op":"add","path":"/n","value":1},'
        '{"op":"remove","path":"/list/0"},{"op":"add","path":"/list/0","value":"a"},'
        '{"op":"replace","path":"/list/1","value":"b"},{"op":"move","from":"/o","path":"/p"},'
        f'{{"op":"move","from":"/p","path":"/o"}},{last}]'
    )
    value = Patched(jsontext.loads(text))
    with pytest.raises(PatchError):
        value.apply(jsontext.loads(changes))
    assert jsontext.dumps(value.value) == text


def test_an_unknown_operation_is_named() -> None:
    assert Patched({}).apply([{"op": "explode"}]) == ["explode"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab01"), inner, max_size=3),
    max_leaves=8,
)
PATHS = st.lists(st.sampled_from(["a", "b", "0", "1", "-"]), max_size=3).map(lambda parts: jsontext.pointer(*parts))
OPERATIONS = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
        "path": PATHS,
        "from": PATHS,
        "value": VALUES,
    }
)


@given(VALUES, st.lists(OPERATIONS, max_size=5))
def test_all_or_nothing(value: Any, operations: list[Any]) -> None:
    before = copy.deepcopy(value)
    patched = Patched(value)
    try:
        patched.apply(copy.deepcopy(operations))
    except PatchError:
        assert jsontext.dumps(patched.value) == jsontext.dumps(before)


def test_copies_of_the_whole_into_itself_come_to_an_end() -> None:
    value = Patched({"a": ["x" * 1000]})
    with pytest.raises(PatchError, match="copy too much"):
        for _ in range(40):
            value.apply([{"op": "copy", "from": "", "path": "/a/-"}])
    assert len(jsontext.dumps(value.value)) <= 2 * MOST_COPIED


FAILS = {"op": "test", "path": "", "value": 0}


@pytest.mark.parametrize(
    ("whole", "patch"),
    [
        ({str(n): 0 for n in range(3000)}, [{"op": "move", "from": "/7", "path": "/8"}, FAILS]),
        ({str(n): 0 for n in range(3000)}, [{"op": "remove", "path": "/7"}, FAILS]),
        ([0] * 300_000, [{"op": "add", "path": "/0", "value": 0}]),
        ([0] * 300_000, [{"op": "remove", "path": "/0"}]),
    ],
)
def test_what_takes_as_long_as_the_value_is_long_comes_to_an_end(whole: Any, patch: list[Any]) -> None:
    value = Patched(whole)
    said = set()
    for _ in range(MOST_COPIED // 1000):
        try:
            value.apply(patch)
        except PatchError as error:
            said.add(str(error))
    assert "the patches of this stream copy too much" in said

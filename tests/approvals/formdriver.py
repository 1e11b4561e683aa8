"""Schemas with values that fit them, and a person who fills such a value into an empty form, button by button."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from approvals import jsontext
from approvals.forms import Field
from tests.approvals.formpage import Filled

Pair = tuple[Any, Any]  # a schema and a value that fits it
NAMES = st.sampled_from(["a", "b", "c/d", "e~f", "한", "x y", "", "1"])
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6)

UNLIKE = st.lists(st.sampled_from([1, "1", True, "true", None, "", " a"]), min_size=1, unique_by=repr)


def leaves() -> SearchStrategy[Pair]:
    mixed = st.lists(st.sampled_from([1, "1", True, "true", None, "", " a"]), min_size=1, max_size=4, unique_by=repr)
    return st.one_of(
        TEXT.map(lambda text: ({"type": "string"}, text)),
        st.integers().map(lambda number: ({"type": "integer"}, number)),
        st.floats(allow_nan=False, allow_infinity=False).map(lambda number: ({"type": "number"}, number)),
        st.booleans().map(lambda value: ({"type": "boolean"}, value)),
        st.none().map(lambda value: ({"type": ["string", "null"]}, value)),
        st.tuples(mixed, st.integers(0, 3)).map(lambda two: ({"enum": two[0]}, two[0][two[1] % len(two[0])])),
        st.sampled_from([2, "k", False]).map(lambda value: ({"const": value}, value)),
        st.sampled_from([7, "seven"]).map(lambda value: ({"type": ["integer", "string"]}, value)),
    )


@st.composite
def objects(draw: DrawFn, inner: SearchStrategy[Pair]) -> Pair:
    members = draw(st.dictionaries(NAMES, inner, max_size=3))
    there = draw(st.sets(st.sampled_from(sorted(members)), max_size=3)) if members else set()
    needed = sorted(draw(st.sets(st.sampled_from(sorted(there)), max_size=2))) if there else []
    constants = {name for name, (schema, _v) in members.items() if "const" in schema and name in needed}
    schema = {"type": "object", "properties": {name: one for name, (one, _v) in members.items()}, "required": needed}
    return schema, {name: value for name, (_s, value) in members.items() if name in there | constants}


@st.composite
def lists(draw: DrawFn, inner: SearchStrategy[Pair]) -> Pair:
    schema, value = draw(inner)
    return {"type": "array", "items": schema}, [value] * draw(st.integers(0, 3))


@st.composite
def tuples(draw: DrawFn, inner: SearchStrategy[Pair]) -> Pair:
    places = draw(st.lists(inner, min_size=1, max_size=3))
    return {"type": "array", "prefixItems": [one for one, _v in places], "items": False}, [
        value for _s, value in places
    ]


@st.composite
def ticks(draw: DrawFn) -> Pair:
    """Some of a few values, in the order of the schema, which is that of the boxes."""
    values = draw(UNLIKE)
    there = draw(st.sets(st.integers(0, len(values) - 1)))
    return {"type": "array", "uniqueItems": True, "items": {"enum": values}}, [values[at] for at in sorted(there)]


@st.composite
def maps(draw: DrawFn, inner: SearchStrategy[Pair]) -> Pair:
    schema, value = draw(inner)
    names = draw(st.sets(NAMES.filter(bool), max_size=3))
    return {"type": "object", "additionalProperties": schema}, dict.fromkeys(sorted(names), value)


@st.composite
def branches(draw: DrawFn, inner: SearchStrategy[Pair]) -> Pair:
    (one, first), (two, second) = draw(inner), draw(inner)
    shapes = [
        {
            "title": kind,
            "type": "object",
            "properties": {"kind": {"const": kind}, "v": schema},
            "required": ["kind", "v"],
        }
        for kind, schema in (("one", one), ("two", two))
    ]
    return {"oneOf": shapes}, draw(st.sampled_from([{"kind": "one", "v": first}, {"kind": "two", "v": second}]))


def pairs() -> SearchStrategy[Pair]:
    grown = st.recursive(
        leaves(),
        lambda inner: st.one_of(objects(inner), lists(inner), tuples(inner), maps(inner), branches(inner), ticks()),
        max_leaves=6,
    )
    return objects(grown)


def fill(form: Filled, pointer: str, value: Any) -> None:
    """Fill a value in at a place as a person would: choose, type, add, go on inside."""
    field = form.tree.at(pointer)
    assert field.pointer == pointer, f"no field at {pointer!r}"
    if field.branches:
        chosen = _branch(field, value)
        if form.page.values[field.branch_name] != chosen:
            form.page.values[field.branch_name] = chosen
            form.press(f"branch:{field.name}")
            return fill(form, pointer, value)
    if value is None and field.nullable:
        if field.kind in ("boolean", "choice"):
            return form.page.choose_null(pointer)
        form.page.values[field.state_name] = "null"
        return None
    return _FILL[field.kind](form, field, value)


def _branch(field: Field, value: Any) -> str:
    wanted = value["kind"] if isinstance(value, dict) else "string" if isinstance(value, str) else "integer"
    return next(option.value for option in field.branches if option.label == wanted)


def _text(form: Filled, field: Field, value: str) -> None:
    if (value == "" and not field.is_item) or (value == "" and field.is_place):
        form.page.values[field.state_name] = "empty"
    form.page.type(field.pointer, value)


def _type(form: Filled, field: Field, value: Any) -> None:
    form.page.type(field.pointer, json.dumps(value))


def _choice(form: Filled, field: Field, value: Any) -> None:
    texts = [jsontext.dumps(one) for one, _title in field.choices]
    form.page.type(field.pointer, f"#{texts.index(json.dumps(value))}")


def _constant(form: Filled, field: Field, value: Any) -> None:
    if field.pointer in form.page.pointers:
        form.page.tick(field.pointer)


def _object(form: Filled, field: Field, value: dict[str, Any]) -> None:
    for name, inner in value.items():
        place = field.pointer + jsontext.pointer(name)
        if form.tree.at(place).pointer != place:
            form.page.values[field.new_name] = name
            form.press(f"add:{field.name}")
        fill(form, place, inner)
    said = form.read().text
    if field.states and (said is None or jsontext.parse(said).at(field.pointer) is None):
        form.page.values[field.state_name] = "empty"  # nothing in it was for anybody to fill in


def _array(form: Filled, field: Field, value: list[Any]) -> None:
    if not value and field.states:
        form.page.values[field.state_name] = "empty"
    for at, inner in enumerate(value):
        place = f"{field.pointer}/{at}"
        if form.tree.at(place).pointer != place:
            form.press(f"add:{field.name}")
        fill(form, place, inner)


def _ticks(form: Filled, field: Field, value: list[Any]) -> None:
    if not value and field.states:
        form.page.values[field.state_name] = "empty"
    texts = [jsontext.dumps(one) for one, _title in field.choices]
    for inner in value:
        form.page.values[field.options[texts.index(json.dumps(inner))].value] = "1"


_FILL = {
    "text": _text, "number": _type, "boolean": _type, "raw": _type, "choice": _choice, "constant": _constant,
    "object": _object, "array": _array, "ticks": _ticks,
}  # fmt: skip

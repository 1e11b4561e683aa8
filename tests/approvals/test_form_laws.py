"""Laws of the form, for schemas and values nobody thought of: what goes in comes out, and the server takes it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from approvals import jsontext
from approvals.kit import standard_kit
from tests.approvals.formdriver import UNLIKE, fill, pairs
from tests.approvals.formpage import Filled

LAW = settings(max_examples=80, deadline=None, derandomize=True)


@LAW
@given(pairs(), st.sampled_from([None, 1, 2]))
def test_editing_nothing_gives_identical_bytes(pair: Any, indent: int | None) -> None:
    schema, value = pair
    text = json.dumps(value, indent=indent)
    read = Filled(schema, text).read()
    assert (read.text, read.problems, read.touched) == (text, [], set())


@LAW
@given(pairs())
def test_a_value_filled_in_by_hand_comes_out_and_the_server_takes_it(pair: Any) -> None:
    schema, value = pair
    form = Filled(schema)
    fill(form, "", value)
    read = form.read()
    assert read.problems == [] and read.text is not None
    assert jsontext.same(read.text, json.dumps(value))
    kit = standard_kit(reason="input_required", schema=form.schema_text, has_call=False, proposal=None)
    assert kit.answer("answered", proposal=None, input=read.text) == read.text


@LAW
@given(pairs())
def test_an_answer_given_once_is_the_same_form_again(pair: Any) -> None:
    schema, value = pair
    form = Filled(schema, json.dumps(value))
    again = Filled(schema, form.read().text)
    assert again.page.values == form.page.values


@LAW
@given(pairs(), pairs())
def test_raw_json_laid_out_as_fields_and_drawn_again_is_the_same_value(pair: Any, other: Any) -> None:
    schema, value = pair
    form = Filled(schema, json.dumps(other[1]))
    form.page.values["v:raw"] = json.dumps(value, indent=3)
    form.press("to-fields:v")
    assert jsontext.same(form.read().text or "", json.dumps(value))
    form.press("to-raw:v")
    assert jsontext.same(form.page.values["v:raw"], json.dumps(value))


@LAW
@given(UNLIKE, st.data())
def test_boxes_keep_the_order_and_the_bytes_of_what_stays_ticked(values: list[Any], data: st.DataObject) -> None:
    before = data.draw(st.permutations(values))[: data.draw(st.integers(0, len(values)))]
    after = [value for value in values if data.draw(st.booleans())]
    form = Filled({"type": "array", "uniqueItems": True, "items": {"enum": values}}, json.dumps(before, indent=3))
    for at, option in enumerate(form.tree.root.options):
        form.page.values.pop(option.value, None)
        form.page.values |= {option.value: "1"} if values[at] in Exactly(after) else {}
    kept = [value for value in before if value in Exactly(after)]
    come = [value for value in after if value not in Exactly(before)]
    read = form.read().text or ""
    assert jsontext.same(read, json.dumps(kept + come))
    assert kept != before or come or read == json.dumps(before, indent=3)


class Exactly(list[Any]):
    """1 is not True, as in JSON."""

    def __contains__(self, value: object) -> bool:
        return any(repr(one) == repr(value) for one in self)

"""JSON as strangers write it, from the store to the agent (R-52, R-53): not a byte changes that nobody touched."""

from __future__ import annotations

import json

import pytest

from approvals import jsontext
from approvals.templatetags import review
from tests.approvals.formpage import Filled
from tests.approvals.jsoncorpus import BAD, FRAMES, GOOD, SCALARS
from tests.pages import Page
from tests.people import new_task, shown


@pytest.mark.parametrize("frame", FRAMES)
def test_what_is_json_is_shown_and_comes_back_byte_for_byte(frame: str) -> None:
    for scalar in SCALARS:
        text = frame.replace("%s", scalar)
        jsontext.parse(text)
        assert review.pretty_json(text)
        assert Filled(None, text).read().text == text


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_json_is_refused_and_shown_as_it_came(text: str) -> None:
    with pytest.raises(jsontext.JSONTextError):
        jsontext.parse(text)
    assert review.pretty_json(text) == review.glyphs(text)
    assert Filled(None, text).tree.only_raw


def test_the_corpus_is_large_enough_to_mean_something() -> None:
    assert len({*GOOD}) > 300 and len({*BAD}) > 75


def test_the_answers_to_a_whole_corpus_hold_the_bytes_that_came(alice, payments, open_case, client):
    numbers = [text for text in SCALARS if text[0] in "-0123456789"]
    members = ", ".join(f'"n{at}" :{text}' for at, text in enumerate(numbers))
    args = '{"touch":"me", ' + members + ',"s":"  trailing  ", "u":"\\u00e9\\ud83d\\ude00"}'
    case = open_case(tasks=[new_task(payments, exhibit=shown(args=args))])
    client.force_login(alice)
    form = Page(client.get(f"/cases/{case.code}/").content.decode()).decisions()[0]
    form.type("/touch", "changed")
    assert client.post(form.action, form.filled(verdict="approved")).status_code == 303
    decision = case.tasks.get().decisions.get()
    assert decision.edits == args.replace('"me"', '"changed"')
    assert decision.edits in decision.answer
    assert json.loads(decision.answer)["approved"] is True

"""A problem above the form names its place as the form does, so that it can be found there and read aloud."""

from __future__ import annotations

import pytest

from approvals.desk.answersheet import place_of


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("/input/quarter", "quarter"),
        ("/edits/contact/phone", "contact › phone"),
        ("/input/a~1b", "a/b"),
        ("/input/", "/input/"),  # a member without a name
        ("/input", "/input"),
        ("/comment", ""),
        ("/verdict", "/verdict"),
    ],
)
def test_a_place_is_named_as_in_the_form(pointer: str, place: str) -> None:
    assert place_of(pointer) == place

"""The review tags: foreign text is inert and whole, times and sizes are in our words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template

from approvals.templatetags import review

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def drawn(template: str, **context: object) -> str:
    return Template("{% load review %}" + template).render(Context({"now": NOON, **context}))


def test_markup_in_foreign_text_is_text() -> None:
    html = drawn("{{ text|glyphs }}", text='<img src=x onerror="a()"> & <b hx-get="/x">')
    assert "<img" not in html and "<b" not in html
    assert "&lt;img" in html


def test_a_hidden_character_is_drawn_with_its_name() -> None:
    html = drawn("{{ text|glyphs }}", text="a\u202e<b")
    assert html == 'a<span class="glyph" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>&lt;b'


def test_the_mark_itself_cannot_be_forged() -> None:
    assert "<span" not in drawn("{{ text|glyphs }}", text='<span class="glyph">U+200B</span>')


def test_long_white_space_is_counted() -> None:
    assert "7 line breaks" in drawn("{{ text|glyphs }}", text="a" + "\n" * 7 + "b")
    assert "300 spaces" in drawn("{{ text|glyphs }}", text="a" + " " * 300 + "b")


def test_json_is_indented_and_every_value_stays() -> None:
    html = drawn("{{ text|pretty_json }}", text='{"n":9007199254740993,"f":1.0,"s":"\u200b"}')
    assert "9007199254740993" in html and "1.0" in html and "U+200B" in html
    assert html.count("\n") == 4


def test_what_is_no_json_is_shown_as_it_is() -> None:
    assert drawn("{{ text|pretty_json }}", text='{"a": <oops>') == "{&quot;a&quot;: &lt;oops&gt;"


def test_the_agents_words_stand_in_a_frame_with_their_name() -> None:
    html = drawn('{% foreign text "Ledger<b>" %}', text="Please <i>sign</i>.")
    assert "hx-ignore" in html and "Ledger&lt;b&gt; says" in html
    assert "Please &lt;i&gt;sign&lt;/i&gt;." in html and "<details" not in html


def test_a_long_message_is_folded_and_nothing_is_lost() -> None:
    text = "\n".join(f"line {number}" for number in range(40))
    html = drawn('{% foreign text "Ledgerline" %}', text=text)
    assert "in 26 lines" in html
    assert all(f"line {number}" in html for number in range(40))


@pytest.mark.parametrize(
    ("left", "level", "words"),
    [
        (timedelta(seconds=-1), "deadline-over", "time is over"),
        (timedelta(seconds=9), "deadline-now", "9 s"),
        (timedelta(seconds=100), "deadline-now", "1 min 40 s"),
        (timedelta(minutes=9, seconds=59), "deadline-soon", "9 min"),
        (timedelta(minutes=59), 'class="deadline"', "59 min"),
        (timedelta(hours=1, minutes=5), 'class="deadline"', "1 h 5 min"),
        (timedelta(days=2, hours=3), 'class="deadline"', "2 d 3 h"),
    ],
)
def test_time_left_in_words(left: timedelta, level: str, words: str) -> None:
    html = drawn("{% deadline at %}", at=NOON + left)
    assert level in html and f">{words}</time>" in html


def test_an_unreadable_deadline_is_shown_as_received() -> None:
    html = drawn('{% deadline at "tomorrow-ish<b>" %}', at=None)
    assert "tomorrow-ish&lt;b&gt;" in html
    assert "no deadline" in drawn("{% deadline at %}", at=None)


def test_times_of_another_day_carry_the_day() -> None:
    assert review.short_time(NOON, NOON) == "12:00 UTC"
    assert review.short_time(NOON - timedelta(days=1), NOON) == "29 Nov, 12:00 UTC"
    assert review.full_time(NOON + timedelta(microseconds=1_500)) == "2026-11-30 12:00:00.001 UTC"


@pytest.mark.parametrize(
    ("size", "words"), [(1, "1 byte"), (412, "412 bytes"), (8_004, "8.0 kB"), (2_500_000, "2.5 MB")]
)
def test_sizes(size: int, words: str) -> None:
    assert review.bytes_size(size) == words


def test_a_hash_is_short_with_the_whole_beside_it() -> None:
    html = review.hash_short("9f3c41aa07d2e8b5" + "0" * 48)
    assert "9f3c 41aa 07d2 e8b5 …" in html and f'title="9f3c41aa07d2e8b5{"0" * 48}"' in html


def test_a_state_is_an_icon_and_a_word() -> None:
    html = drawn('{% state "expired" %}')
    assert "icons.svg#clock" in html and "expired" in html
    assert "some&lt;new" in drawn("{% state name %}", name="some<new")


@pytest.mark.parametrize(("name", "said"), [("mina.park", "MP"), ("Jae Lim", "JL"), ("bob", "B"), ("", "?")])
def test_initials(name: str, said: str) -> None:
    assert review.initials(name) == said

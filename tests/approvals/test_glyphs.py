"""What a reader would not see is found; what people write every day is not."""

from __future__ import annotations

import time

import pytest

from approvals.foreign import glyphs


def found(text: str) -> list[str]:
    return [code for mark in glyphs.marks(text) for code in mark.codes]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("abc\u202edef", ["U+202E"]),
        ("a\u200bb", ["U+200B"]),
        ("x\x00y", ["U+0000"]),
        ("\ud800", ["U+D800"]),
        ("tag\U000e0041", ["U+E0041"]),
        ("private \ue000", ["U+E000"]),
        ("soft\u00adhyphen", ["U+00AD"]),
        ("line\u2028end", ["U+2028"]),
        ("filler \u3164", ["U+3164"]),
        ("a\rb", ["U+000D"]),
        ("a\ufe0f", ["U+FE0F"]),
        ("o" + "\u0301" * 6, ["U+0301"] * 2),
    ],
)
def test_characters_without_a_picture_are_marked(text: str, codes: list[str]) -> None:
    assert found(text) == codes
    assert glyphs.has_hidden(text)


def test_a_space_of_another_width_is_marked_but_hides_nothing() -> None:
    assert found("narrow\u00a0space") == ["U+00A0"]
    assert not glyphs.has_hidden("narrow\u00a0space")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("раypal", ["U+0440", "U+0430"]),
        ("j.moreau@exаmple.test", ["U+0430"]),
        ("Привeт", ["U+0065"]),
        ("ｐaypal", ["U+FF50"]),
        ("\U0001d429aypal", ["U+1D429"]),
        ("ⅼogin", ["U+217C"]),
        ("http://ıbm.example", ["U+0131"]),
        ("аррӏе.com", ["U+0430", "U+0440", "U+0440", "U+04CF", "U+0435"]),
    ],
)
def test_letters_that_pose_as_others_are_marked(text: str, codes: list[str]) -> None:
    assert found(text) == codes
    assert glyphs.has_hidden(text)


@pytest.mark.parametrize(
    "text",
    [
        "Привет, мир", "Ελληνικά κείμενα", "한국어 텍스트와 PDF파일", "日本語のTシャツ\u3000です", "مرحبا بالعالم",
        "5kΩ, 3 μg, αβγ", "naïve café", "İstanbul ıspanak", "user@пример.рф", "❤️ 1️⃣", "a\r\nb\tc", "Россия, ООО «Рога»",
    ],
)  # fmt: skip
def test_everyday_writing_is_left_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("text", ["a" + "\n" * 5 + "b", "a\n \n \n \nb", "a\r\n\r\n\r\n\r\nb", "a" + " " * 9 + "b"])
def test_long_white_space_is_one_mark(text: str) -> None:
    (mark,) = glyphs.marks(text)
    assert (mark.kind, mark.text) == ("run", text[1:-1])
    assert not glyphs.has_hidden(text)


def test_indentation_of_our_own_is_no_mark() -> None:
    assert glyphs.marks("{\n" + " " * 60 + '"a": 1}', indented=True) == []
    assert glyphs.marks("{\n" + " " * 60 + '"a": 1}') != []


@pytest.mark.parametrize("unit", ["аb", "\u202e", "a        ", " \n", "Привет, мир и mir, "])
def test_many_tricks_are_read_in_seconds(unit: str) -> None:
    began = time.process_time()
    glyphs.marks(unit * (200_000 // len(unit)))
    assert time.process_time() - began < 20  # in squared time it would be hours

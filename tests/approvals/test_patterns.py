"""Patterns are those of ECMA-262: what the agent's own reader refuses is refused here, and what it takes is taken."""

from __future__ import annotations

import json

import pytest

from approvals import schemas


def fits(pattern: str, text: str) -> bool:
    return not schemas.problems(json.dumps({"pattern": pattern}), json.dumps(text))


@pytest.mark.parametrize(
    ("pattern", "takes", "refuses"),
    [
        (r"^\d+$", "123", "١٢٣"),
        (r"^\d+$", "123", "123\n"),
        (r"^\w+$", "a_1", "é"),
        (r"^[\w.-]+@[\w-]+\.\w+$", "a.b-c@d-e.fr", "a b@c.de"),
        (r"^\W$", "é", "_"),
        (r"^\S+$", "ab", "\ufeff"),
        (r"^[^\s]+$", "ab", "a\u2029b"),
        (r"^[\D]$", "١", "1"),
        (r"^[\W_]$", "é", "x"),
        (r"^[\s\S]{3}$", "a\nb", "ab"),
        (r"\bx\b", "éx", "ax"),
        (r"^a\Bb$", "ab", "a"),
        ("^.$", "😀", "\u2028"),
        (r"^\p{L}+$", "é한", "12"),
        (r"^\u{1F600}$", "😀", "u"),
        (r"^[\uD83D\uDE00]$", "😀", "x"),
        (r"^\cC$", "\x03", "C"),
        (r"^(?<n>a|b)\k<n>$", "bb", "ab"),
        ("^[^]$", "\n", ""),
        ("^[]|a$", "a", "b"),
        ("^[[:alpha:]]$", ":]", "a"),
        (r"^a{,3}$", "a{,3}", "aaa"),
        (r"^[\w-.]+$", "a-.b", "a b"),
        (r"^[\b]$", "\b", "b"),
    ],
)
def test_a_pattern_is_read_as_the_standard_reads_it(pattern: str, takes: str, refuses: str) -> None:
    assert fits(pattern, takes)
    assert not fits(pattern, refuses)


def test_a_pattern_with_flags_was_written_for_python() -> None:
    assert fits("(?i)^abc$", "ABC")
    assert fits("(?s)^a.b$", "a\nb")


def test_a_pattern_that_is_none_leaves_the_answer_to_raw_json() -> None:
    assert "/pattern" in (schemas.usable(json.dumps({"pattern": r"^\u{110000}$"})) or "")

"""Deadlines in every spelling that agents were seen to use."""

from __future__ import annotations

from datetime import UTC, datetime
from time import process_time

import pytest

from agentbridge.wire.expiry import read_deadline

NOON = datetime(2030, 1, 2, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2030-01-02T12:00:00Z",
        "2030-01-02t12:00:00z",
        "2030-01-02 12:00:00+00:00",
        "2030-01-02T21:00:00+09:00",
        "2030-01-02T21:00:00+0900",
        "2030-01-02T17:30:00+0530",
        "2030-01-02T12:00Z",
        "20300102T120000Z",
        "2030-01-02T12:00:00.000Z",
        "2030-01-02T12:00:00,000000000Z",
        "2030-01-01T24:00:00-12:00",
        "2030-01-02T11:59:60Z",
        " 2030-01-02T12:00:00Z ",
    ],
)
def test_one_instant_in_many_spellings(text: str) -> None:
    deadline = read_deadline(text)
    assert (deadline.at, deadline.note) == (NOON, "")


def test_fractions_keep_their_microseconds() -> None:
    assert read_deadline("2030-01-02T12:00:00.1234567Z").at == NOON.replace(microsecond=123456)


def test_no_zone_is_utc_and_says_so() -> None:
    deadline = read_deadline("2030-01-02T12:00:00")
    assert deadline.at == NOON
    assert "UTC" in deadline.note


def test_a_date_alone_is_the_start_of_that_day_and_says_so() -> None:
    deadline = read_deadline("2030-01-02")
    assert deadline.at == NOON.replace(hour=0)
    assert "date" in deadline.note


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "",
        "1893456000",
        "1893456000000",
        "20300102",
        '{"at":"2030"}',
        "true",
        "2030-02-30T00:00:00Z",
        "0000-00-00T00:00:00Z",
        "9999-12-31T23:59:59-14:00",
        "2030-01-02T25:00:00Z",
        "2030-01-02T24:00:01Z",
        "2030-01-02T12:00:00+25:00",
        "2030-01-02T12:00:00+09:75",
        "٢٠٣٠-٠١-٠٢T١٢:٠٠:٠٠Z",
        "2030-01-02T12:00:00Z; never",
        "in 5 minutes",
    ],
)
def test_what_cannot_be_read_is_shown_and_never_expires(text: str) -> None:
    deadline = read_deadline(text)
    assert deadline.at is None
    assert f"“{text}”" in deadline.note


def test_a_long_text_is_cut_with_a_mark() -> None:
    assert read_deadline("x" * 500).note.count("x") == 80


def test_a_megabyte_of_white_space_takes_no_time() -> None:
    began = process_time()
    assert read_deadline("2030-01-02T12:00:00" + " " * 2**20 + "x").at is None
    assert process_time() - began < 1

"""Framing: the SSE standard, and what real agents do beside it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbridge.wire.sse import Frame, FrameTooLarge, Parser


def read(*chunks: bytes) -> list[Frame]:
    parser = Parser()
    return [frame for chunk in chunks for frame in parser.feed(chunk)] + parser.close()


def texts(*chunks: bytes) -> list[str]:
    return [frame.data for frame in read(*chunks)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_of_the_standard_is_accepted(end: bytes) -> None:
    assert texts(b"data: one" + end + end + b"data: two" + end + end) == ["one", "two"]


def test_crlf_cut_between_its_bytes_is_one_line_end() -> None:
    assert texts(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == ["a\nb"]


def test_several_data_lines_are_joined_with_lf() -> None:
    assert texts(b'data: {"a":\ndata:1\ndata\ndata: }\n\n') == ['{"a":\n1\n\n}']


def test_only_one_space_after_the_colon_is_framing() -> None:
    assert texts(b"data:  two\n\ndata:none\n\n") == [" two", "none"]


def test_other_fields_and_comments_are_no_events() -> None:
    parser = Parser()
    frames = parser.feed(b": ping\nevent: x\nid: 7\nretry: 1\ndatabase: no\n\n:\ndata: y\n\n")
    assert [frame.data for frame in frames] == ["y"]
    assert parser.comments == 2


def test_one_bom_at_the_start_is_stripped_even_when_cut() -> None:
    assert texts(b"\xef", b"\xbb\xbfdata: a\n\ndata: \xef\xbb\xbfb\n\n") == ["a", "\ufeffb"]


def test_a_character_cut_anywhere_stays_whole() -> None:
    body = "data: 결재 🚀\n\n".encode()
    assert read(*(body[i : i + 1] for i in range(len(body)))) == [Frame("결재 🚀")]


def test_bad_utf8_is_marked_and_the_next_frame_is_fine() -> None:
    assert read(b"data: a\xffb\n\ndata: c\n\n") == [Frame("a\ufffdb", bad_utf8=True), Frame("c")]


@pytest.mark.parametrize("tail", [b"", b"\n", b"\r\n"])
def test_a_last_frame_without_its_blank_line_is_delivered_and_marked(tail: bytes) -> None:
    assert read(b"data: a\n\ndata: b" + tail) == [Frame("a"), Frame("b", terminated=False)]


def test_an_endless_frame_is_stopped_and_what_was_complete_is_kept() -> None:
    parser = Parser(limit=10)
    with pytest.raises(FrameTooLarge) as stop:
        parser.feed(b"data: ok\n\ndata: 0123456789ab")
    assert [frame.data for frame in stop.value.frames] == ["ok"]


def test_many_short_data_lines_count_together() -> None:
    parser = Parser(limit=10)
    with pytest.raises(FrameTooLarge):
        for _ in range(9):
            parser.feed(b"data: xx\n")


def test_a_long_stream_of_small_frames_never_meets_the_limit() -> None:
    parser = Parser(limit=10)
    assert sum(len(parser.feed(b"data: 12345678\n\n")) for _ in range(50)) == 50


BODY = 'data: {"a":"é🚀"}\r\n\r\n: c\r\ndata: x\ndata: y\n\n\rdata: z\r\rdata: end'.encode()


@given(st.lists(st.integers(0, len(BODY))))
def test_the_cuts_of_the_network_make_no_difference(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(BODY)]
    assert read(*(BODY[a:b] for a, b in pairwise(places))) == read(BODY)

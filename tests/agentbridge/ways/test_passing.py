"""Between an agent and one caller: in order, bounded, and never with a gap."""

from __future__ import annotations

import asyncio

import pytest

from agentbridge.ways.passing import Passage


async def listen(passage: Passage) -> list[bytes]:
    return [part async for part in passage.parts()]


def test_parts_come_in_order_and_end_with_the_answer() -> None:
    async def story() -> list[bytes]:
        passage = Passage(limit=100)
        listener = asyncio.create_task(listen(passage))
        for part in (b"one", b"two", b"three"):
            passage.add(part)
            await asyncio.sleep(0)
        passage.finish()
        return await listener

    assert asyncio.run(story()) == [b"one", b"two", b"three"]


def test_a_listener_whose_socket_is_stuck_is_woken_and_cut_off() -> None:
    async def story() -> tuple[list[bytes], bool]:
        passage, taken = Passage(limit=10), []

        async def stuck() -> None:
            async for part in passage.parts():
                taken.append(part)
                await asyncio.Event().wait()

        listener = asyncio.create_task(stuck())
        for part in (b"12345", b"67890", b"abcde"):
            passage.add(part)
            await asyncio.sleep(0)
        assert not passage.overrun
        passage.add(b"!")
        with pytest.raises(asyncio.CancelledError):
            await listener
        return taken, passage.overrun

    assert asyncio.run(story()) == ([b"12345"], True)


def test_what_the_record_held_back_cuts_nobody_off_who_takes_it() -> None:
    async def story() -> tuple[list[bytes], bool]:
        passage = Passage(limit=10)
        listener = asyncio.create_task(listen(passage))
        await asyncio.sleep(0)
        passage.add(b"before")
        passage.catch_up([b"x" * 9, b"y" * 9])
        passage.add(b"behind it")
        await asyncio.sleep(0)
        passage.finish()
        return await listener, passage.overrun

    assert asyncio.run(story()) == ([b"before", b"x" * 9, b"y" * 9, b"behind it"], False)


def test_what_was_held_back_is_no_excuse_for_what_comes_behind_it() -> None:
    passage = Passage(limit=10)
    passage.catch_up([b"x" * 20])
    passage.add(b"y" * 10)
    assert not passage.overrun
    passage.add(b"z")
    assert passage.overrun


def test_nobody_is_given_room_for_one_delay_after_the_other() -> None:
    passage = Passage(limit=10)
    passage.catch_up([b"x" * 11])
    passage.catch_up([b"y" * 10])
    assert not passage.overrun
    passage.catch_up([b"z"])
    assert passage.overrun


def test_a_listener_who_comes_too_late_hears_nothing_rather_than_a_part() -> None:
    async def story() -> None:
        passage = Passage(limit=10)
        passage.add(b"x" * 11)
        passage.finish()
        with pytest.raises(ConnectionAbortedError):
            await listen(passage)

    asyncio.run(story())


def test_nothing_is_kept_for_a_listener_who_left() -> None:
    async def story() -> bool:
        passage = Passage(limit=10)
        passage.add(b"one")
        parts = passage.parts()
        await anext(parts)
        await parts.aclose()  # type: ignore[attr-defined] # a generator
        for _ in range(100):
            passage.add(b"more")
        return passage.overrun

    assert not asyncio.run(story())


def test_the_shorter_way_is_taken_only_when_nothing_is_before_it() -> None:
    async def story() -> tuple[list[bytes], list[bytes]]:
        passage, short, open_ = Passage(limit=100), [], [True]
        passage.write = lambda part: open_[0] and not short.append(part)
        passage.add(b"before the listener")
        listener = asyncio.create_task(listen(passage))
        await asyncio.sleep(0)
        passage.add(b"short")
        open_[0] = False
        passage.add(b"its socket is full")
        open_[0] = True
        passage.add(b"behind it")
        passage.finish()
        return short, await listener

    assert asyncio.run(story()) == ([b"short"], [b"before the listener", b"its socket is full", b"behind it"])

"""Threads write in the order in which they came, and nobody who gave up is waited for."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from config.sqlite.line import Line
from tests.waiting import PATIENCE, until


@pytest.fixture
def line() -> Line:
    """Taken already."""
    line = Line()
    assert line.acquire(timeout=0)
    return line


def waits(line: Line, places: int) -> bool:
    return len(line) == places


@contextmanager
def in_line(line: Line, *works: Callable[[], object]) -> Iterator[None]:
    """Threads that came one after the other; at the end all of them are done."""
    threads = [threading.Thread(target=work) for work in works]
    for place, thread in enumerate(threads, start=1):
        thread.start()
        until(partial(waits, line, place), "a thread in line")
    yield
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_the_turn_goes_to_whoever_came_first(line: Line) -> None:
    had: list[int] = []

    def take(number: int) -> None:
        assert line.acquire(timeout=PATIENCE)
        had.append(number)
        line.release()

    with in_line(line, *(partial(take, number) for number in range(8))):
        line.release()
    assert had == list(range(8))
    assert line.acquire(timeout=0)


def test_whoever_gave_up_is_passed_over(line: Line) -> None:
    assert not line.acquire(timeout=0.01)
    with in_line(line, lambda: line.acquire(timeout=PATIENCE) and line.release()):
        line.release()
    assert line.acquire(timeout=0)


class Enough(Exception):
    pass


def test_a_wait_that_is_broken_off_leaves_the_line(line: Line) -> None:
    def enough(*_args: object) -> None:
        raise Enough

    def break_off() -> None:
        until(partial(waits, line, 1), "the main thread in line")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, enough)
    breaker = threading.Thread(target=break_off)
    breaker.start()
    try:
        with pytest.raises(Enough):
            line.acquire(timeout=PATIENCE)
    finally:
        breaker.join(PATIENCE)
        signal.signal(signal.SIGUSR1, before)
    line.release()
    assert line.acquire(timeout=0)


def test_however_many_give_up_one_has_it_at_a_time_and_in_the_end_nobody() -> None:
    line, inside, most = Line(), [], []

    def come_and_go() -> None:
        for _ in range(200):
            if line.acquire(timeout=0.0001):
                inside.append(None)
                most.append(len(inside))
                inside.pop()
                line.release()

    threads = [threading.Thread(target=come_and_go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert set(most) == {1}
    assert line.acquire(timeout=0)

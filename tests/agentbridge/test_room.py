"""How many streams an agent may have open in one worker, so that some are left to the others."""

from __future__ import annotations

from agentbridge.work.room import Room

CROWD, OTHER, QUIET = 1, 2, 3


def opened(room: Room, agent: int) -> int:
    """How many more it gets, one after the other."""
    taken = 0
    while room.admits(agent):
        room.take(agent)
        taken += 1
    return taken


def test_an_agent_whose_streams_never_end_leaves_a_fifth_to_the_others() -> None:
    room = Room(200)
    assert opened(room, CROWD) == 160
    assert room.admits(QUIET) and not room.admits(CROWD)
    assert room.full() == {CROWD}


def test_two_that_fill_it_together_leave_a_ninth() -> None:
    room = Room(200)
    for agent in (CROWD, OTHER) * 200:
        if room.admits(agent):
            room.take(agent)
    assert room.full() == {CROWD, OTHER} and room.left >= 200 // 9
    assert opened(room, QUIET) > 10


def test_what_was_open_before_counts() -> None:
    room = Room(40, [CROWD] * 160)
    assert room.full() == {CROWD}


def test_the_last_place_goes_to_whoever_has_none() -> None:
    room = Room(1, [CROWD] * 4)
    assert room.admits(QUIET) and not room.admits(CROWD)
    room.take(QUIET)
    assert room.full() == {CROWD, QUIET}

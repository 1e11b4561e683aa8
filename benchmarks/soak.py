"""`python -m benchmarks.soak [name…]`: the delivery bars at full size, each on a database of its own.

Prints a line per bar with its seed and time; `BAR_SEED` plays one again. Exit status 1 when one is missed.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.__main__ import prepare
from tests.desk import own_database

if TYPE_CHECKING:
    from tests.bars.crew import Crew

Bar = tuple[str, dict[str, float], Callable[["Crew"], object]]


def bars() -> dict[str, Bar]:
    """Name → what it is, its waits, and the play at full size."""
    from tests.agentbridge.guard import killing
    from tests.bars import behaviours, crashing, lives, plays, races, records, rereading, together, ways, web

    many = int(os.environ.get("BAR_LIVES", "2000"))
    storm = ("storm", {"LEASE_SECONDS": 1.0}, lambda crew: plays.storm(crew, deliveries=500))

    return {
        "r01a": storm, "r01b": storm, "r01c": storm,  # three seeds
        "r02": ("web killed", {}, lambda crew: web.killed(crew, decisions=500)),
        "r03": ("crash table", {"WORKER_STREAMS": 1}, lambda crew: crashing.crashes(crew, times=20)),
        "r05a": ("asleep before arming", {}, lambda crew: crashing.stopped(crew, times=50, at="claimed")),
        "r05b": ("asleep after arming", {"FIRST_EVENT_SECONDS": 1},
                 lambda crew: crashing.stopped(crew, times=50, at="armed")),
        "r06a": ("lost answers", {}, lambda crew: plays.lost_answers(crew, times=200)),
        "r06b": ("asked again", {}, lambda crew: plays.proven_agent(crew, times=200)),
        "r10": ("agent down", {"BACKOFF_SECONDS": 2}, lambda crew: plays.no_stampede(crew, deliveries=100, down=600)),
        "r11": ("Retry-After", {}, lambda crew: plays.patient(crew, times=50)),
        "r12": ("redirects", {}, lambda crew: plays.redirected(crew, times=100)),
        "r13": ("every behaviour", {"IDLE_SECONDS": 8, "RUN_SECONDS": 20},
                lambda crew: behaviours.behaviours(crew, times=20, quick=2.0)),
        "r14": ("resent by hand", {}, lambda crew: plays.resent(crew, times=50)),
        "r15": ("moved house", {}, lambda crew: plays.moved_house(crew, times=20)),
        "r21": ("two reviewers", {}, lambda crew: races.two_reviewers(*people(crew, 2), times=1000)),
        "r22": ("one token", {}, lambda crew: races.one_token(*people(crew, 1), times=200)),
        "r23": ("at the deadline", {"EXPIRY_MARGIN_SECONDS": 0.05},
                lambda crew: races.at_the_deadline(*people(crew, 1), times=500, margin=0.05)),
        "r24a": ("decided or withdrawn", {}, lambda crew: races.decided_or_withdrawn(*people(crew, 1), times=300)),
        "r24b": ("recalled or taken", {}, lambda crew: races.recalled_or_taken(*people(crew, 1), times=300)),
        "r25": ("right removed", {}, lambda crew: races.right_removed(*people(crew, 0), times=300)),
        "r27": ("three at once", {}, lambda crew: together.partly_expired(crew, times=200)),
        "r28a": ("pushed ten times", {}, lambda crew: together.pushed_at_once(crew, times=100)),
        "r28b": ("read ten times", {}, lambda crew: rereading.read_at_once(crew, times=100)),
        "r29": ("any order", {"UNDO_SECONDS": 10}, lambda crew: lives.live(examples=many, steps=60, start=crew.seed)),
        "r31": ("tampering", {}, lambda crew: records.tampered(crew, times=500)),
        "r35": ("erasing", {}, lambda crew: records.erased(crew, times=100)),
        "r41": ("signed once", {}, lambda crew: records.signed_alike(crew, times=500)),
        "w01": ("relay killed", {"LEASE_SECONDS": 2}, lambda crew: ways.relay_killed(crew, rounds=200)),
        "w02": ("connector killed", {"LEASE_SECONDS": 2}, lambda crew: ways.connector_killed(crew, rounds=200)),
        "w03": ("guard killed", {},
                lambda crew: killing.killed_at_random(crew.log.parent, seed=crew.seed, rounds=200)),
    }  # fmt: skip


def people(crew: Crew, count: int) -> tuple[object, ...]:
    """The queue and so many of its reviewers."""
    from approvals.models import Queue
    from approvals.models.people import Role
    from tests.people import person

    reviewers = (crew.alice, person("bob", Role.REVIEWER, "payments"))
    return (Queue.objects.get(name="payments"), *reviewers[:count])


def main(names: list[str]) -> int:
    """A process of its own for each bar: settings and connections start anew."""
    if len(names) == 1:
        return one(names[0])
    import subprocess

    with tempfile.TemporaryDirectory() as folder:
        prepare(f"sqlite:///{folder}/unused.sqlite3")
    known = list(bars())
    missed = [name for name in names or known if subprocess.call([sys.executable, "-m", "benchmarks.soak", name])]
    print("all bars hold" if not missed else f"missed: {', '.join(missed)}")
    return 1 if missed else 0


def one(name: str) -> int:
    seed = int(os.environ.get("BAR_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
    with tempfile.TemporaryDirectory() as folder, own_database(Path(folder)) as database_url:
        prepare(database_url)
        from tests.bars.crew import Crew

        if name not in bars():
            print(f"There is no bar {name}; there are: {', '.join(bars())}.", file=sys.stderr)
            return 2
        what, waits, play = bars()[name]
        began, held, told = time.monotonic(), True, None
        with Crew(Path(folder), seed=seed, **waits) as crew:
            try:
                told = play(crew)
            except Exception:
                traceback.print_exc()
                held = False
        print(f"{name:5} {what:22} {'holds ' if held else 'MISSED'} seed {seed}, {time.monotonic() - began:.0f} s"
              f"{f'; {told}' if isinstance(told, str) else ''}", flush=True)  # fmt: skip
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

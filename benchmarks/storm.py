"""`python -m benchmarks.storm [deliveries] [seed]`: workers killed at random, agents misbehaving, what became of it.

Prints a line per way of misbehaving and per invariant; exits 0 only if I1 to I9 hold.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.__main__ import prepare
from tests.desk import own_database

WAITS = {"LEASE_SECONDS": 2, "FIRST_EVENT_SECONDS": 2, "IDLE_SECONDS": 2}


def main(deliveries: int = 200, seed: int = 0) -> int:
    seed = seed or random.SystemRandom().randrange(1, 10**6)
    print(f"storm: {deliveries} deliveries, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder, own_database(Path(folder)) as database_url:
        prepare(database_url)
        return play(Path(folder), deliveries, seed)


def play(folder: Path, deliveries: int, seed: int) -> int:
    from tests.bars import invariants, plays
    from tests.bars.crew import Crew

    began = time.monotonic()
    with Crew(folder, seed=seed, **WAITS) as crew:
        try:
            plays.storm(crew, deliveries=deliveries)
        except AssertionError as missed:
            print(missed)
        found = invariants.broken(crew)
        told(crew)
    print(f"\n{crew.kills} workers killed, {time.monotonic() - began:.0f} s")
    for said in found:
        print(f"BROKEN {said}")
    print("I1 to I9 hold." if not found else f"{len(found)} broken.")
    return 1 if found else 0


def told(crew: object) -> None:
    """What happened per behaviour: ends, bodies that arrived, executions by the witness."""
    from collections import Counter

    from tests.bars import invariants
    from tests.bars.crew import Crew

    assert isinstance(crew, Crew)
    receipts = crew.witness.resumes()
    paths = {receipt.thread_id: receipt.fault for receipt in receipts}
    bodies = Counter(receipt.fault for receipt in receipts)
    effects = Counter(paths[thread] for thread in crew.witness.effects() if thread in paths)
    print(f"{'the agent':28} {'bodies':>6} {'effects':>7}  how its deliveries ended")
    for slug, ends in sorted(invariants.deliveries().items()):
        fault = slug.replace("-", "_")
        listed = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in ends.most_common())
        print(f"{fault:28} {bodies[fault]:>6} {effects[fault]:>7}  {listed}")


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))

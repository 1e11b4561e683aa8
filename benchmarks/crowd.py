"""Thirty-two people decide at once for a minute, always two on the same task."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import statistics
from collections import Counter
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from time import monotonic

import httpx

from benchmarks import Measured, row
from benchmarks.driving import Asked, desk_in, open_tasks, run
from tests.desk import Desk

PEOPLE = 32
SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
TASKS = int(SECONDS * 100)


@dataclass
class Seen:
    times: list[float] = field(default_factory=list)
    answers: dict[str, list[int]] = field(default_factory=dict)  # task → what the two got

    def wins(self) -> Counter[tuple[int, ...]]:
        return Counter(tuple(sorted(got)) for got in self.answers.values())


@row("crowd", what=f"{PEOPLE} people decide for {SECONDS:.0f} s, two on each task", goal="p99 ≤ 1 s, one winner")
def crowd() -> Measured:
    with TemporaryDirectory() as folder, desk_in(folder) as desk:
        told = run(desk, "benchmarks.filling", "--tasks", str(TASKS), "--entries", "0", "--people", str(PEOPLE))
        tokens = json.loads(told)
        seen = asyncio.run(race(desk, tokens, open_tasks(desk)))
    p99 = statistics.quantiles(seen.times, n=100)[-1]
    wins = seen.wins()
    one_each = set(wins) <= {(200, 409)}
    middle = statistics.median(seen.times)
    detail = f"{len(seen.times) / SECONDS:.0f} answers a second, p50 {middle:.2f} s; {dict(wins)}"
    return Measured(figure=f"p99 {p99:.2f} s", met=p99 <= 1 and one_each, detail=detail)


async def race(desk: Desk, tokens: list[str], tasks: list[Asked]) -> Seen:
    """People in pairs; each pair goes through tasks of its own, both on the same one at the same moment."""
    seen, until = Seen(), monotonic() + SECONDS
    async with httpx.AsyncClient(trust_env=False, timeout=60, limits=httpx.Limits(max_connections=PEOPLE)) as http:

        async def decide(token: str, task: Asked) -> None:
            began = monotonic()
            said = {"verdict": "approved", "shownDigest": task.digest}
            place = f"{desk.url}/api/v1/tasks/{task.code}/decision"
            answer = await http.post(place, json=said, headers={"Authorization": f"Bearer {token}"})
            seen.times.append(monotonic() - began)
            seen.answers.setdefault(task.code, []).append(answer.status_code)

        async def pair(one: str, other: str, own: itertools.islice[Asked]) -> None:
            for task in own:
                if monotonic() > until:
                    return
                await asyncio.gather(decide(one, task), decide(other, task))

        pairs = PEOPLE // 2
        lots = [itertools.islice(tasks, n, None, pairs) for n in range(pairs)]
        await asyncio.gather(*(pair(tokens[2 * n], tokens[2 * n + 1], lots[n]) for n in range(pairs)))
    return seen

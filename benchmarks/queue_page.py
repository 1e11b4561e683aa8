"""The queue page of a full desk, beside the same page with a hundred tasks; and what a first visit loads."""

from __future__ import annotations

import os
import re
import statistics
from tempfile import TemporaryDirectory
from urllib.parse import urljoin

import httpx

from benchmarks import Measured, row
from benchmarks.driving import desk_in, run, signed_in, timed
from tests.desk import Desk

TASKS = os.environ.get("BENCH_TASKS", "100000")
ENTRIES = os.environ.get("BENCH_ENTRIES", "1000000")
VISITS, WARM = 60, 10
LINKED = re.compile(r"""(?:<link[^>]*?href|<script[^>]*?src|<img[^>]*?src)="([^"#?]+)""")
IMPORTED = re.compile(r"""url\(["']?([^"')]+)|(?:from|import)\s*\(?["'](\.[^"']+)["']""")


@row("queue-page", what=f"the queue page with {TASKS} open tasks and {ENTRIES} entries, beside 100", goal="≤ 1.3 ×")
def flat() -> Measured:
    """Two servers on two databases, asked in turns."""
    with TemporaryDirectory() as one, TemporaryDirectory() as other, desk_in(one) as few, desk_in(other) as many:
        run(few, "benchmarks.filling", "--tasks", "100", "--entries", "400")
        run(many, "benchmarks.filling", "--tasks", TASKS, "--entries", ENTRIES)
        visitors = [(desk, signed_in(desk)) for desk in (few, many)]
        times = [[visit(desk, person) for desk, person in visitors] for _ in range(VISITS + WARM)][WARM:]
    small, large = (statistics.median(taken) * 1000 for taken in zip(*times, strict=True))
    detail = f"{small:.1f} ms with 100 tasks, {large:.1f} ms"
    return Measured(figure=f"{large / small:.2f} ×", met=large / small <= 1.3, detail=detail)


def visit(desk: Desk, person: httpx.Client) -> float:
    return timed(lambda: person.get(f"{desk.url}/queue/"), 200)


@row("first-load", what="the queue page of 50 rows with all it needs, on the wire", goal="≤ 150 kB")
def first_load() -> Measured:
    with TemporaryDirectory() as folder, desk_in(folder) as desk:
        run(desk, "benchmarks.filling", "--tasks", "100", "--entries", "400")
        loaded = everything(signed_in(desk), f"{desk.url}/queue/")
    total = sum(loaded.values()) / 1000
    largest = max(loaded, key=lambda address: loaded[address])
    detail = f"{len(loaded)} answers; the largest is {largest} with {loaded[largest] / 1000:.1f} kB"
    return Measured(figure=f"{total:.1f} kB", met=total <= 150, detail=detail)


def everything(person: httpx.Client, address: str) -> dict[str, int]:
    """Bytes of the bodies as they are sent, by address: the page, what it links, and what that imports."""
    loaded: dict[str, int] = {}
    wanted = [address]
    while wanted:
        asked = wanted.pop()
        answer = person.get(asked, headers={"Accept-Encoding": "br, gzip"})
        loaded[asked] = answer.num_bytes_downloaded
        names = LINKED.findall(answer.text) if asked == address else [a or b for a, b in IMPORTED.findall(answer.text)]
        found = {urljoin(asked, name) for name in names if not name.startswith("data:")}
        wanted += sorted(found - loaded.keys() - set(wanted))
    return loaded

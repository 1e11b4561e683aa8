"""Deciding, beside a bare Django view that sends the same statements: what our checks and pages cost."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from benchmarks import Measured, row
from benchmarks.driving import Asked, desk_in, open_tasks, run, signed_in, timed, wait_for
from tests.desk import ROOT, Desk, free_port

PAIRS = int(os.environ.get("BENCH_PAIRS", "150"))
WARM = 10


@row("deciding-page", what="deciding on the page, beside a bare view with login and the same SQL", goal="≥ 0.8 ×")
def page() -> Measured:
    return compared("page", on_the_page)


@row("deciding-api", what="deciding by the API, beside a bare view with login and the same SQL", goal="≥ 0.8 ×")
def api() -> Measured:
    return compared("api", by_the_api)


def compared(way: str, deed: Callable[[Desk, httpx.Client, Asked], httpx.Response]) -> Measured:
    """One client, both sides in turns on one database."""
    with TemporaryDirectory() as folder, desk_in(folder) as desk:
        run(desk, "benchmarks.filling", "--tasks", str(2 * PAIRS + 2 * WARM), "--entries", "0")
        statements = str(Path(folder) / "statements")
        run(desk, "benchmarks.bare", "record", way, "alice", statements)
        person, tasks = signed_in(desk), iter(open_tasks(desk))
        with bare_server(desk, statements) as address:
            times = list(pairs(desk, person, tasks, deed, address))[WARM:]
    bare, ours = (statistics.median(taken) * 1000 for taken in zip(*times, strict=True))
    return Measured(figure=f"{bare / ours:.2f} ×", met=bare / ours >= 0.8, detail=f"{bare:.1f} ms bare, {ours:.1f} ms")


def pairs(
    desk: Desk, person: httpx.Client, tasks: Iterator[Asked],
    deed: Callable[[Desk, httpx.Client, Asked], httpx.Response], address: str,
) -> Iterator[tuple[float, float]]:  # fmt: skip
    for _ in range(PAIRS + WARM):
        bare = timed(lambda: barely(address, person, next(tasks)), 302)
        task = next(tasks)
        yield bare, timed(partial(deed, desk, person, task), 303, 200)
        if deed is on_the_page:  # a browser goes on to the page, which tells what was done; here it would pile up
            person.get(f"{desk.url}/cases/{task.case_code}/").raise_for_status()


def barely(address: str, person: httpx.Client, task: Asked) -> httpx.Response:
    posted = {"about": f"{task.task},{task.case},{task.case_code}", "csrfmiddlewaretoken": person.cookies["csrf"]}
    return person.post(f"{address}/bare/{task.code}/", data=posted)


def on_the_page(desk: Desk, person: httpx.Client, task: Asked) -> httpx.Response:
    posted = {"verdict": "approved", "shown_digest": task.digest, "idempotency_key": task.code}
    posted["csrfmiddlewaretoken"] = person.cookies["csrf"]
    return person.post(f"{desk.url}/tasks/{task.code}/decision/", data=posted)


def by_the_api(desk: Desk, person: httpx.Client, task: Asked) -> httpx.Response:
    headers = {"Authorization": f"Bearer {desk.tokens['alice']}"}
    said = {"verdict": "approved", "shownDigest": task.digest}
    return person.post(f"{desk.url}/api/v1/tasks/{task.code}/decision", json=said, headers=headers)


@contextmanager
def bare_server(desk: Desk, statements: str) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.bare", "serve", str(port), statements]
    server = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **desk.settings})
    try:
        wait_for(server, f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()

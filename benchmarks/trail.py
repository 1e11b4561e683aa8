"""The trail: appending by many at once, verifying and searching a long one."""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import httpx

from benchmarks import Measured, row
from benchmarks.driving import desk_in, run, signed_in, timed
from benchmarks.keeping import desk_kept_in
from tests.desk import ROOT, Desk

ENTRIES = int(os.environ.get("BENCH_ENTRIES", "1000000"))
WORKERS, EACH = 8, 400
DECIDED = ENTRIES // 10
KEEP = os.environ.get("BENCH_KEEP", "")
SEARCHES = (
    "reviewer7", "run-0004711", "payer 0000099", "approved reviewer12", "nobody-was-here", "th-1234", "signed in",
    "send_money", "started run 77777", "/amount", "mailer", "4711 finished", "thread-17", "xyzzy plugh", "payments",
)  # fmt: skip
QUESTIONS: tuple[dict[str, str], ...] = (
    {}, {"actor": "past3"}, {"agent": "payer"}, {"verb": "task.decided"}, {"tool": "refund_order"}, {"tool": "none"},
    {"queue": "travel"}, {"verdict": "cancelled"}, {"verdict": "approved", "edited": "yes"}, {"edited": "no"},
    {"tool": "refund_order", "verdict": "approved", "edited": "yes", "since": "{month}", "until": "{day}"},
    {"incident": "open"}, {"incident": "any", "verdict": "rejected"}, {"since": "{month}"}, {"until": "{month}"},
    {"q": "past-4711"}, {"q": "ops@example.org", "tool": "tool_03"}, {"thread": "past-4711"}, {"reads": "yes"},
    {"actor": "past3", "tool": "tool_07", "verdict": "rejected"}, {"actor": "nobody"}, {"case": "C-NONE"},
    {"verdict": "answered"}, {"edited": "yes", "verdict": "rejected"}, {"agent": "nobody"}, {"since": "{tomorrow}"},
    {"actor": "past3", "until": "{month}"}, {"agent": "payer", "until": "{month}"}, {"verb": "run.failed"},
)
APPEND = """
import sys, time, django; django.setup()
from django.utils import timezone
from approvals import audit
print('ready', flush=True); sys.stdin.readline()
for n in range({each}):
    audit.record('login.ok', f'Somebody signed in for the {{n}}th time.', data={{'n': n}}, now=timezone.now())
"""


@row("append", what=f"entries a second, appended by {WORKERS} processes at once", goal="≥ 300/s on PostgreSQL")
def append() -> Measured:
    command = [sys.executable, "-c", APPEND.format(each=EACH)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen(command, cwd=ROOT, **pipes) for _ in range(WORKERS)]
    for worker in workers:
        worker.stdout.readline()
    began = perf_counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(lambda worker: worker.communicate("go\n"), workers))
    taken = perf_counter() - began
    if any(worker.returncode for worker in workers):
        raise SystemExit("a worker failed")
    rate = WORKERS * EACH / taken
    detail = f"{WORKERS * EACH} entries in {taken:.1f} s, on {multiprocessing.cpu_count()} cores"
    return Measured(figure=f"{rate:.0f}/s", met=rate >= 300, detail=detail)


@dataclass(frozen=True)
class Verified:
    """What one `verify_audit` found and took, as the system counts it for that process alone."""

    result: str
    seconds: float
    processor: float
    megabytes: float


@row("trail", what=f"verify and ask {ENTRIES} entries and {DECIDED} decisions", goal="≤ 60 s; p95 ≤ 1 s each")
def long_trail() -> Measured:
    with long_desk() as desk:
        told = verified(desk)
        auditor = signed_in(desk, "carol")
        words = [(q, asked(desk, auditor, {"q": q})) for q in SEARCHES * 3]
        asks = [(str(one), asked(desk, auditor, dated(one))) for one in QUESTIONS * 3]
        asks += [("a sample", timed(lambda n=n: drawn(desk, auditor, str(n)), 303)) for n in range(3)]
    found = {name: statistics.quantiles([taken for _what, taken in times], n=20)[-1] for name, times in
             (("words", words), ("questions", asks))}  # fmt: skip
    slowest, longest = max(words + asks, key=lambda one: one[1])
    good = told.result == "good" and told.seconds <= 60 and max(found.values()) <= 1
    detail = (
        f"verified as {told.result} with {told.processor:.0f} s of processor time and {told.megabytes:.0f} MB; "
        f"the slowest was “{slowest}” with {longest:.2f} s"
    )
    return Measured(
        figure=f"{told.seconds:.0f} s; " + ", ".join(f"{name} {p95:.2f} s" for name, p95 in found.items()),
        met=good, detail=detail,
    )  # fmt: skip


@contextmanager
def long_desk() -> Iterator[Desk]:
    """With a long trail; one that stays where `BENCH_KEEP` says so."""
    words = ("--tasks", "1000", "--entries", str(ENTRIES), "--decided", str(DECIDED))
    if KEEP:
        with desk_kept_in(Path(KEEP), lambda desk: run(desk, "benchmarks.filling", *words)) as desk:
            yield desk
        return
    with TemporaryDirectory() as folder, desk_in(folder) as desk:
        run(desk, "benchmarks.filling", *words)
        yield desk


def verified(desk: Desk) -> Verified:
    began = perf_counter()
    command = [sys.executable, "manage.py", "verify_audit", "--json"]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **desk.settings}, stdout=subprocess.PIPE)
    report = json.loads(process.stdout.read())
    _pid, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Verified(report["result"], perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def asked(desk: Desk, auditor: httpx.Client, query: dict[str, str]) -> float:
    """The whole page: the chart, the counts and the newest fifty entries."""
    return timed(lambda: auditor.get(f"{desk.url}/audit/", params=query), 200)


def dated(question: dict[str, str]) -> dict[str, str]:
    """With days of the year that was filled in."""
    today = datetime.now(UTC).date()
    days = {name: str(today + timedelta(days=n)) for name, n in (("day", 0), ("month", -30), ("tomorrow", 1))}
    return {name: text.format(**days) for name, text in question.items()}


def drawn(desk: Desk, auditor: httpx.Client, seed: str) -> httpx.Response:
    token = {"csrfmiddlewaretoken": auditor.cookies["csrf"]}
    told = {**token, "words": "verdict=approved", "seed": seed, "size": "25"}
    return auditor.post(f"{desk.url}/audit/samples/", data=told, headers={"Referer": f"{desk.url}/audit/"})

"""The trail: appending by many at once, verifying and searching a long one."""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks import Measured, row
from benchmarks.driving import desk_in, run, signed_in, timed
from tests.desk import ROOT

ENTRIES = int(os.environ.get("BENCH_ENTRIES", "1000000"))
WORKERS, EACH = 8, 400
SEARCHES = (
    "reviewer7", "run-0004711", "payer 0000099", "approved reviewer12", "nobody-was-here", "th-1234", "signed in",
    "send_money", "started run 77777", "/amount", "mailer", "4711 finished", "thread-17", "xyzzy plugh", "payments",
)  # fmt: skip
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


@row("trail", what=f"verify and search {ENTRIES} entries", goal="≤ 60 s; p95 ≤ 1 s")
def long_trail() -> Measured:
    with TemporaryDirectory() as folder, desk_in(folder) as desk:
        run(desk, "benchmarks.filling", "--tasks", "1000", "--entries", str(ENTRIES))
        began = perf_counter()
        report = json.loads(desk.manage("verify_audit", "--json"))
        verified = perf_counter() - began
        auditor = signed_in(desk, "carol")
        times = {
            words: timed(lambda words=words: auditor.get(f"{desk.url}/audit/", params={"q": words}), 200)
            for words in SEARCHES * 3
        }
    p95, slowest = statistics.quantiles(times.values(), n=20)[-1], max(times, key=lambda words: times[words])
    good = report["result"] == "good" and verified <= 60 and p95 <= 1
    detail = f"the slowest was “{slowest}” with {times[slowest]:.2f} s; the trail is {report['result']}"
    return Measured(figure=f"{verified:.0f} s; {p95:.2f} s", met=good, detail=detail)

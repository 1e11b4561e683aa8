"""What one worker needs to read a hundred resumed runs of a minute at once."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks import Measured, row

STREAMS = int(os.environ.get("BENCH_STREAMS", "100"))
SECONDS = float(os.environ.get("BENCH_STREAM_SECONDS", "60"))
LIMIT = 300.0  # MB


@row("streams", what=f"{STREAMS} runs of {SECONDS:.0f} s at once in one worker", goal="≤ 300 MB, none missed")
def streams() -> Measured:
    """Resident memory of the worker while it reads; every run ends as finished."""
    from agentbridge.models import Resume
    from tests.bars.crew import Crew
    from tests.scripted_agent import Answer, ScriptedAgent, finished, pausing, result, started

    talk = [b": still at work\n\n", 1.0] * int(SECONDS)
    long = Answer([started(), *talk, result(), finished()])
    waits = {"AGENT_PARALLEL": STREAMS, "IDLE_SECONDS": 60, "FIRST_EVENT_SECONDS": 60, "RUN_SECONDS": SECONDS * 5}
    most = 0.0
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        crew = stack.enter_context(Crew(Path(folder), seed=1, **waits))
        agent = stack.enter_context(ScriptedAgent([*[pausing()] * STREAMS, long]))
        pid = crew.spawn()
        for case in crew.cases(crew.register("payer", agent.url), [f"t-{n}" for n in range(STREAMS)], seconds=180):
            crew.decide(case)
        flying = Resume.objects.filter(state__in=["ready", "leased", "armed", "accepted"], replaced_at=None)
        end = time.monotonic() + SECONDS * 5
        while time.monotonic() < end and (flying.exists() or Resume.objects.count() < STREAMS):
            most = max(most, resident(pid))
            time.sleep(1)
        done = Resume.objects.filter(state="finished").count()
    met = most <= LIMIT and done == STREAMS
    return Measured(figure=f"{most:.0f} MB", met=met, detail=f"{done} finished, at most {agent.most_open} open")


def resident(pid: int) -> float:
    """Megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

"""What one worker needs to read a hundred resumed runs of a minute at once."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from django.utils import timezone

from benchmarks import Measured, row

if TYPE_CHECKING:
    from approvals.models import Case
    from tests.bars.crew import Crew

STREAMS = int(os.environ.get("BENCH_STREAMS", "100"))
SECONDS = float(os.environ.get("BENCH_STREAM_SECONDS", "60"))
URGENT = 10  # answers that must leave while all others are read
LIMIT = 300.0  # MB


@row("streams", what=f"{STREAMS} runs of {SECONDS:.0f} s at once in one worker", goal="≤ 300 MB, none missed")
def streams() -> Measured:
    """Resident memory of the worker while it reads; meanwhile answers with a near deadline have to leave."""
    from agentbridge.models import Resume
    from tests.bars.crew import Crew
    from tests.scripted_agent import Answer, ScriptedAgent, finished, finishing, pausing, result, started

    talk = [b": still at work\n\n", 1.0] * int(SECONDS)
    long = Answer([started(), *talk, result(), finished()])
    waits = {"AGENT_PARALLEL": STREAMS, "IDLE_SECONDS": 60, "FIRST_EVENT_SECONDS": 60, "RUN_SECONDS": SECONDS * 5}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        crew = stack.enter_context(Crew(Path(folder), seed=1, **waits))
        agent = stack.enter_context(ScriptedAgent([*[pausing()] * STREAMS, long]))
        other = stack.enter_context(ScriptedAgent([*[pausing()] * URGENT, finishing()]))
        urgent = crew.cases(crew.register("urgent", other.url), [f"u-{n}" for n in range(URGENT)])
        cases = crew.cases(crew.register("payer", agent.url), [f"t-{n}" for n in range(STREAMS)])
        pid = crew.spawn()
        for case in cases:
            crew.decide(case)
        open_ones = Resume.objects.filter(agent__slug="payer", state="accepted")
        crew.until(lambda: open_ones.count() == STREAMS, "all are being read", SECONDS * 2)
        answered_in_time(crew, urgent)
        most = most_held(pid, until=time.monotonic() + SECONDS * 5)
        done = Resume.objects.filter(state="finished").count()
        in_time = Resume.objects.filter(agent__slug="urgent", state="finished").count()
    met = most <= LIMIT and done == STREAMS + URGENT
    detail = f"{done - in_time} finished, at most {agent.most_open} open; {in_time} of {URGENT} deadlines met meanwhile"
    return Measured(figure=f"{most:.0f} MB", met=met, detail=detail)


def answered_in_time(crew: Crew, cases: list[Case]) -> None:
    """Decided two seconds before each is too late."""
    for case in cases:
        edge = timezone.now() + timedelta(seconds=2)
        case.tasks.update(deadline=edge)
        type(case).objects.filter(pk=case.pk).update(deadline=edge)
        crew.decide(case)


def most_held(pid: int, *, until: float) -> float:
    """The most memory the worker had until nothing was under way any more."""
    from tests.bars.crew import under_way

    most = resident(pid)
    while time.monotonic() < until and under_way():
        most = max(most, resident(pid))
        time.sleep(1)
    return most


def resident(pid: int) -> float:
    """Megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

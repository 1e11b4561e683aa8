"""How long a decision takes to the first byte at the agent, and a pause to an open page, with an idle desk."""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks import Measured, row

TURNS = 40
GOAL = 0.2  # seconds, 95th percentile


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def measured(times: list[float]) -> Measured:
    found = p95(times)
    median = statistics.median(times)
    detail = f"median {median * 1000:.0f} ms of {len(times)} turns"
    return Measured(figure=f"{found * 1000:.0f} ms", met=found <= GOAL, detail=detail)


@row("send", what="decision → first byte at the agent, no undo window, idle worker", goal="p95 ≤ 200 ms")
def send() -> Measured:
    """The decision's return against the arrival at the agent; worker and decider are two processes."""
    from approvals.models import Case
    from tests.bars.crew import Crew
    from tests.people import decide, only_task
    from tests.scripted_agent import ScriptedAgent, finishing, pausing

    times = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        crew = stack.enter_context(Crew(Path(folder), seed=1))
        agent = stack.enter_context(ScriptedAgent([pausing(), finishing()] * TURNS))
        payer = crew.register("payer", agent.url)
        crew.spawn()
        for n in range(TURNS):
            crew.ask(payer, f"thread-{n}")
            crew.until(lambda n=n: Case.objects.filter(agent=payer.slug).count() == n + 1, "it pauses")
            time.sleep(0.3)  # the worker is idle again
            decide(only_task(Case.objects.latest("pk")), crew.alice)
            decided = time.monotonic()
            crew.until(lambda n=n: len(agent.posts) == 2 * n + 2, "it arrives")
            times.append(max(0.0, agent.posts[-1].at - decided))
    return measured(times)


@row("pause", what="end of the agent's pausing run → told to an open socket", goal="p95 ≤ 200 ms")
def pause() -> Measured:
    """The last byte of the pause leaves the agent; the web process, a third one, tells a page that is open."""
    from tests.bars.crew import Crew
    from tests.bars.listening import Page
    from tests.bars.web import Site, session_of
    from tests.scripted_agent import Answer, ScriptedAgent, pausing

    ended: list[float] = []
    pauses = Answer([*pausing().parts, lambda: ended.append(time.monotonic())])
    times = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        crew = stack.enter_context(Crew(Path(folder), seed=1))
        agent = stack.enter_context(ScriptedAgent([pauses]))
        payer = crew.register("pauser", agent.url)
        site = Site(crew)
        stack.callback(site.kill)
        site.wait()
        crew.spawn()
        with Page(site.port, session_of(crew.alice), topics=["queue"]) as page:
            for n in range(TURNS):
                time.sleep(0.3)
                page.drain()
                crew.ask(payer, f"thread-{n}")
                crew.until(lambda n=n: len(ended) == n + 1, "it pauses")
                page.hear()
                times.append(max(0.0, time.monotonic() - ended[-1]))
    return measured(times)


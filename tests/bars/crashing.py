"""R-03 and R-05: workers that die at a named step, or stand still beyond their lease."""

from __future__ import annotations

import signal
import threading

from agentbridge.models import Resume
from approvals.models import Case
from tests.bars.crew import Crew
from tests.bars.plays import holds

CRASHES = {  # where the worker dies, how the delivery ends, and how many bodies arrive
    "sealed": ("finished", 1), "claimed": ("finished", 1), "armed": ("in_doubt", 0), "sent": ("in_doubt", 1),
    "chunk_stored": ("finished", 1), "before_conclude": ("finished", 1), "concluded": ("finished", 1),
}  # fmt: skip


def crashes(crew: Crew, *, times: int) -> None:
    """R-03: a kill at each row of the crash table; the end is the table's, every time.

    With `WORKER_STREAMS=1` and an agent for each, a worker has one delivery in hand when it dies.
    """
    agents = [crew.register(f"ok-{n}", f"{crew.url}/fault/ok") for n in range(times)]
    cases = {n: crew.cases(agent, [f"{point}-{n}" for point in CRASHES]) for n, agent in enumerate(agents)}
    for place, point in enumerate(CRASHES):
        dying = [cases[n][place] for n in range(times)]
        for case in dying:
            crew.decide(case)
        for _case in dying:
            pid = crew.spawn(once=True, crash_at=point)
            crew.until(lambda pid=pid: crew.gone(pid), f"a worker dies at {point}")
        crew.lapse()
        crew.spawn()
        crew.settled()
        crew.kill(crew.workers[0])
        for case in dying:
            ended_as_told(crew, case, point)
    holds(crew)


def ended_as_told(crew: Crew, case: Case, point: str) -> None:
    state, bodies = CRASHES[point]
    resume = Resume.objects.select_related("thread").get(case=case)
    arrived = [receipt for receipt in crew.witness.resumes() if receipt.thread_id == resume.thread.thread_id]
    ends = {state, "outcome_unknown"} if point == "chunk_stored" else {state}  # which chunk is a matter of luck
    assert resume.state in ends and len(arrived) == bodies, (point, resume.state, len(arrived))


def stopped(crew: Crew, *, times: int, at: str) -> None:
    """R-05: a worker stands still beyond its lease and wakes: it sends nothing it may not, and nothing twice."""
    fault = "ok" if at == "claimed" else "slow"
    agent = crew.agent(fault)
    cases = crew.cases(agent, [f"still-{n}" for n in range(times)])
    worker = crew.spawn()
    for n, case in enumerate(cases):
        crew.decide(case)
        crew.until(lambda case=case: reached(case, at), f"case {n} is {at}")
        crew.kill(worker, signal.SIGSTOP)
        wakes = threading.Timer(2, crew.kill, (worker, signal.SIGCONT))
        wakes.start()
        crew.lapse()  # on SQLite it may have stopped with the write lock in its hand; then this waits for it
        other = crew.spawn()
        wakes.join()
        crew.settled()
        crew.kill(other)
    holds(crew)


def reached(case: Case, at: str) -> bool:
    """The worker is about there, or past it: both are right, and the invariants say whether it mattered."""
    beyond = Resume.objects.filter(case=case).exclude(state="ready" if at == "claimed" else "leased")
    return beyond.exclude(state="ready").exists()

"""The plays: each does one thing many times with a crew and raises AssertionError where the bar is missed."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from datetime import timedelta

from django.utils import timezone

from agentbridge import registering
from agentbridge.delivery import settling
from agentbridge.models import Agent, DeliveryState, Resume, Run
from approvals.models import Case
from approvals.refusals import WrongState
from tests.bars import invariants
from tests.bars.crew import Crew

# How a delivery to an agent that nothing is known of ends, for every behaviour of the fake agent that a resume meets.
ENDS = {
    "finished": "ok legal_oddities two_finishes events_after_end no_outcome unknown_things result_for_other_call "
                "no_result other_arguments acts_after_denial acts_each_time idempotent echoes_credentials huge_event",
    "interrupted_again": "again_new_id again_same again_other_bytes again_fifty langgraph",
    "in_doubt": "reset_after_read reset_mid_answer effect_then_reset hang header_then_hang http_500 slow "
                "http_500_after_effect http_502 http_504 login_page json_instead_of_stream empty_200 garbage gzip_bomb "
                "drip",
    "rejected": "http_503_retry_after http_503_retry_date http_401 http_403 http_404 http_410 http_413 http_422 "
                "redirect_to_metadata",
    "agent_error": "error_partial_resume error_invalid_payload error_interrupt_expired error_unknown_interrupt_id "
                   "error_thread_busy error_pending_interrupts error_unknown_interrupt_id_first error_while_running "
                   "clock_ahead",
    "outcome_unknown": "half_event cut_after_started cut_after_result endless_heartbeats",
}  # fmt: skip
EXPECTED = {fault: state for state, faults in ENDS.items() for fault in faults.split()}
# The storm leaves out what only waits for a limit: a minute of it shows nothing more than one delivery does.
STORMY = sorted(set(EXPECTED) - {"hang", "header_then_hang", "drip", "slow", "endless_heartbeats", "http_410"})


def holds(crew: Crew) -> None:
    found = invariants.broken(crew)
    assert not found, "\n".join(found)


def storm(crew: Crew, *, deliveries: int, workers: int = 2) -> None:
    """R-01: workers killed at random all the way, agents misbehaving; I1 to I9 hold, and nothing is left under way."""
    agents = [crew.agent(fault) for fault in STORMY]
    for _ in range(workers):
        crew.spawn()
    asked = 0
    while (missing := deliveries - Case.objects.count()) > 0:  # a first run may be lost on a busy machine
        for n in range(missing):
            crew.ask(crew.random.choice(agents), f"thread-{asked + n}")
        asked += missing
        crew.until(lambda: not Run.objects.in_flight().exists(), "all have asked", 60 + deliveries)
    stop = threading.Event()
    killer = threading.Thread(target=_kill_at_random, args=(crew, stop))
    killer.start()
    try:
        for case in Case.objects.filter(state="open", previous=None):
            crew.decide(case, crew.random.choice(["approved", "rejected"]))
            time.sleep(crew.random.uniform(0, 0.2))
        time.sleep(2)
    finally:
        stop.set()
        killer.join()
    crew.spawn()
    crew.settled(seconds=120)
    holds(crew)


def _kill_at_random(crew: Crew, stop: threading.Event) -> None:
    while not stop.wait(crew.random.uniform(0.25, 1.1)):
        crew.kill(crew.random.choice(crew.workers))
        crew.spawn()
    for pid in list(crew.workers):
        crew.kill(pid)


CRASHES = {  # where the worker dies, how the delivery ends, and how many bodies arrive
    "sealed": ("finished", 1), "claimed": ("finished", 1), "armed": ("in_doubt", 0), "sent": ("in_doubt", 1),
    "chunk_stored": ("finished", 1), "before_conclude": ("finished", 1), "concluded": ("finished", 1),
}  # fmt: skip


def crashes(crew: Crew, *, times: int) -> None:
    """R-03: a kill at each row of the crash table; the end is the table's, every time."""
    agent = crew.agent("ok")
    first = crew.spawn()
    planned = [(point, n) for point in CRASHES for n in range(times)]
    cases = crew.cases(agent, [f"{point}-{n}" for point, n in planned])
    crew.kill(first)
    for (point, n), case in zip(planned, cases, strict=True):
        crew.decide(case)
        pid = crew.spawn(once=True, crash_at=point)
        crew.until(lambda pid=pid: crew.gone(pid), f"the worker dies at {point}")
        crew.lapse()
        crew.spawn()
        crew.settled()
        crew.kill(crew.workers[0])
        state, bodies = CRASHES[point]
        arrived = [receipt for receipt in crew.witness.resumes() if receipt.thread_id == f"{point}-{n}"]
        ends = {state, "outcome_unknown"} if point == "chunk_stored" else {state}  # which chunk is a matter of luck
        assert Resume.objects.get(case=case).state in ends and len(arrived) == bodies, point
    holds(crew)


def stopped(crew: Crew, *, times: int, at: str) -> None:
    """R-05: a worker stands still beyond its lease and wakes: it sends nothing it may not, and nothing twice."""
    fault = "ok" if at == "claimed" else "slow"
    agent = crew.agent(fault)
    worker = crew.spawn()
    for n, case in enumerate(crew.cases(agent, [f"still-{n}" for n in range(times)])):
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


def lost_answers(crew: Crew, *, times: int) -> None:
    """R-06: the agent acts and resets: in doubt with one body each; a verified agent ends finished."""
    doubtful, proven = crew.agent("effect_then_reset"), crew.agent("idempotent", replay="verified")
    crew.spawn()
    for agent, name in ((doubtful, "lost"), (proven, "proven")):
        for case in crew.cases(agent, [f"{name}-{n}" for n in range(times)]):
            crew.decide(case)
    crew.settled()
    ends = {"effect-then-reset": Counter(in_doubt=times), "idempotent": Counter(finished=times)}
    assert invariants.deliveries() == ends
    bodies = Counter(receipt.thread_id for receipt in crew.witness.resumes())
    assert set(bodies.values()) == {1}
    holds(crew)


def no_stampede(crew: Crew, *, deliveries: int, down: float) -> None:
    """R-10: the agent is down while answers wait; afterwards all arrive, and not all at once."""
    agent = crew.agent("ok")
    crew.spawn()
    cases = crew.cases(agent, [f"down-{n}" for n in range(deliveries)])
    address = Agent.objects.get(pk=agent.pk).url
    Agent.objects.filter(pk=agent.pk).update(url="http://127.0.0.1:9/fault/ok")  # nothing listens there
    for case in cases:
        crew.decide(case)
    crew.until(lambda: Resume.objects.filter(attempts_made__gte=1).count() >= 5, "the breaker opens")
    time.sleep(down)
    tried = sum(Resume.objects.values_list("attempts_made", flat=True))
    assert tried <= 5 + crew.parallel + down / (30 * crew.conditions["BACKOFF_SECONDS"]) + 1, tried
    Agent.objects.filter(pk=agent.pk).update(url=address)
    crew.settled(seconds=120)
    assert invariants.deliveries()["ok"] == Counter(finished=deliveries)
    at = [receipt.at for receipt in crew.witness.resumes()]
    seconds = [sum(timedelta() <= other - one < timedelta(seconds=1) for other in at) for one in at]
    assert max(seconds) <= 6, seconds  # five, and one whose way was longer
    holds(crew)


def patient(crew: Crew, *, times: int) -> None:
    """R-11: `Retry-After: 7` is kept to: no second try before it, and the same bytes then."""
    busy = [crew.agent("http_429"), crew.agent("http_503_retry_after", busy_is_not_taken=True)]
    crew.spawn()
    for agent in busy:
        for case in crew.cases(agent, [f"{agent.slug}-{n}" for n in range(times)]):
            crew.decide(case)
    again = Resume.objects.filter(state="ready", next_try_at__isnull=False, attempts_made__gte=1)
    crew.until(lambda: again.count() == 2 * times, "all were told to come back")
    for resume in again:
        waits = resume.next_try_at - resume.changed_at  # type: ignore[operator]
        assert waits >= timedelta(seconds=7), waits
    crew.until(lambda: len(crew.witness.resumes()) >= 4 * times, "the second tries", 60)
    at: dict[str, list[float]] = {}
    for receipt in crew.witness.resumes():
        at.setdefault(receipt.thread_id, []).append(receipt.at.timestamp())
    assert all(times[1] - times[0] >= 7 for times in at.values() if len(times) > 1)


def redirected(crew: Crew, *, times: int) -> None:
    """R-12: a redirect is never followed."""
    agent = crew.agent("redirect_to_metadata")
    crew.spawn()
    for case in crew.cases(agent, [f"away-{n}" for n in range(times)]):
        crew.decide(case)
    crew.settled()
    assert invariants.deliveries() == {"redirect-to-metadata": Counter(rejected=times)}
    assert len(crew.witness.resumes()) == times
    holds(crew)


def behaviours(crew: Crew, *, times: int) -> None:
    """R-13: every behaviour of the fake agent ends as the table says, and good agents are served meanwhile."""
    agents = {fault: crew.agent(fault) for fault in [*EXPECTED, "http_429"]}
    crew.spawn()
    for fault, agent in agents.items():
        for n in range(times):
            crew.ask(agent, f"{fault}-{n}")
    crew.until(lambda: Case.objects.count() >= times * len(agents), "all ask", 120)
    for case in Case.objects.filter(state="open"):
        crew.decide(case)
    busy = Resume.objects.filter(agent=agents["http_429"])
    crew.until(lambda: busy.filter(state="ready", attempts_made__gte=1).count() == times, "429 is waited for", 60)
    Agent.objects.filter(pk=agents["http_429"].pk).update(enabled=False)
    others = Resume.objects.exclude(agent=agents["http_429"])
    crew.until(lambda: not others.filter(state__in=invariants.MOVING).exists(), "the rest ends", 120)
    ends = invariants.deliveries()
    wrong = {fault: dict(ends[agent.slug]) for fault, agent in agents.items()
             if fault in EXPECTED and ends[agent.slug] != Counter({EXPECTED[fault]: times})}  # fmt: skip
    assert not wrong, wrong
    assert not Agent.objects.get(slug="http-410").enabled


def resent(crew: Crew, *, times: int) -> None:
    """R-14: a person sends the same bytes again; never when the thread has moved on."""
    agent = crew.agent("effect_then_reset")
    crew.spawn()
    for case in crew.cases(agent, [f"again-{n}" for n in range(2 * times)]):
        crew.decide(case)
    crew.settled()
    for n, resume in enumerate(Resume.objects.filter(state="in_doubt").select_related("case", "thread").order_by("pk")):
        if n % 2:
            Run.objects.create(
                thread=resume.thread, key=f"{n:064}", run_id=f"later-{n}", kind="observed", status="succeeded",
                created_at=timezone.now(),
            )  # fmt: skip
        _send_again(crew, resume, refused=bool(n % 2))
    crew.settled()
    bodies = Counter(receipt.thread_id for receipt in crew.witness.resumes())
    assert sorted(bodies.values()) == [1] * times + [2] * times
    reasons = Resume.objects.filter(case__entries__verb="delivery.ready", case__entries__actor=crew.olga).distinct()
    assert reasons.count() == times
    holds(crew)


def _send_again(crew: Crew, resume: Resume, *, refused: bool) -> None:
    try:
        settling.resolve_doubt(resume.case, action="resend", reason="no trace there", by=crew.olga, now=timezone.now())
    except WrongState:
        assert refused
    else:
        assert not refused


def moved_house(crew: Crew, *, times: int) -> None:
    """R-15: the address changed while answers were ready: nothing arrives at the new one before a person binds them."""
    agent = crew.agent("ok")
    first = crew.spawn()
    cases = crew.cases(agent, [f"moved-{n}" for n in range(times)])
    crew.kill(first)
    for case in cases:
        crew.decide(case)
    pid = crew.spawn(once=True, crash_at="sealed")
    crew.until(lambda: crew.gone(pid), "one is sealed")
    wanted = registering.Wanted(slug="ok", url=f"{crew.url}/fault/acts_each_time")
    registering.register(wanted, now=timezone.now())
    crew.spawn()
    crew.until(lambda: _blocked() + _finished() == times, "each is blocked, or sealed for the new address")
    blocked = list(Case.objects.exclude(blocked=""))
    arrived = {receipt.thread_id for receipt in crew.witness.resumes()}
    assert blocked and not arrived & {f"moved-{cases.index(case)}" for case in blocked}
    for case in blocked:
        settling.rebind(case, reason="same agent, new name", by=crew.olga, now=timezone.now())
    crew.settled()
    assert _finished() == times
    holds(crew)


def _blocked() -> int:
    return Case.objects.exclude(blocked="").count()


def _finished() -> int:
    return Resume.objects.filter(state=DeliveryState.FINISHED).count()


def partly_expired(crew: Crew, *, times: int) -> None:
    """R-27: of two questions one is answered and one runs out: no part of them ever leaves."""
    agent = crew.agent("refuses_partial", at_start=True)
    crew.spawn()
    for case in crew.cases(agent, [f"three-{n}" for n in range(times)]):
        crew.decide(case, leave=1)
        over = timezone.now() - timedelta(seconds=1)
        case.tasks.filter(state="open").update(deadline=over)
        Case.objects.filter(pk=case.pk).update(deadline=over)
    time.sleep(1)
    assert crew.witness.resumes() == []
    assert all(case.is_expired(timezone.now()) for case in Case.objects.all())
    holds(crew)

"""The plays: each does one thing many times with a crew and raises AssertionError where the bar is missed."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from itertools import pairwise

from django.utils import timezone

from agentbridge import registering
from agentbridge.delivery import settling
from agentbridge.models import Agent, DeliveryState, Resume, Run
from approvals import jsontext
from approvals.models import AuditEntry, Case
from approvals.refusals import WrongState
from tests.bars import invariants
from tests.bars.behaviours import STORMY
from tests.bars.crew import Crew
from tests.bars.witness import Receipt
from tests.scripted_agent import RESET, Answer, ScriptedAgent, finishing, pausing


def holds(crew: Crew) -> None:
    found = invariants.broken(crew)
    assert not found, "\n".join(found)


def storm(crew: Crew, *, deliveries: int, workers: int = 2) -> None:
    """R-01: workers killed at random all the way, agents misbehaving; I1 to I9 hold, and nothing is left under way."""
    agents = [crew.agent(fault) for fault in STORMY]
    for n in range(deliveries):
        crew.ask(crew.random.choice(agents), f"thread-{n}")
    crew.have_asked()
    for _ in range(workers):
        crew.spawn()
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
    crew.settled()
    holds(crew)


def _kill_at_random(crew: Crew, stop: threading.Event) -> None:
    while not stop.wait(crew.random.uniform(0.25, 1.1)):
        crew.kill(crew.random.choice(crew.workers))
        crew.spawn()
    for pid in list(crew.workers):
        crew.kill(pid)


LOST = Answer([RESET], head=False)


def lost_answers(crew: Crew, *, times: int) -> None:
    """R-06: the agent acts and resets, and nothing is known of it: in doubt, with one body each."""
    agent = crew.agent("effect_then_reset")
    cases = crew.cases(agent, [f"lost-{n}" for n in range(times)])
    crew.spawn()
    for case in cases:
        crew.decide(case)
    crew.settled()
    assert invariants.deliveries() == {"effect-then-reset": Counter(in_doubt=times)}
    assert set(Counter(receipt.thread_id for receipt in crew.witness.resumes()).values()) == {1}
    holds(crew)


def proven_agent(crew: Crew, *, times: int) -> None:
    """R-06: an agent that is proven replay-safe is asked again by itself, with the same bytes, to the end."""
    with ScriptedAgent([*[pausing()] * times, *[LOST] * times, finishing()]) as agent:
        payer = crew.register("proven", agent.url, replay="verified")
        cases = crew.cases(payer, [f"proven-{n}" for n in range(times)])
        crew.spawn()
        for case in cases:
            crew.decide(case)
        crew.settled()
    sent: dict[str, list[str]] = defaultdict(list)
    for post in agent.posts:
        if post.resume is not None:
            sent[post.json["threadId"]].append(jsontext.member(post.body.decode(), "resume") or "")
    assert invariants.deliveries() == {"proven": Counter(finished=times)}
    assert sum(map(len, sent.values())) > times
    assert all(len(bodies) <= 25 and len(set(bodies)) == 1 for bodies in sent.values())


def no_stampede(crew: Crew, *, deliveries: int, down: float) -> None:
    """R-10: the agent is down while answers wait; afterwards all arrive, and not all at once."""
    agent = crew.agent("ok")
    cases = crew.cases(agent, [f"down-{n}" for n in range(deliveries)])
    crew.spawn()
    address = Agent.objects.get(pk=agent.pk).url
    Agent.objects.filter(pk=agent.pk).update(url="http://127.0.0.1:9/fault/ok")  # nothing listens there
    began = time.monotonic()
    for case in cases:
        crew.decide(case)
    crew.until(lambda: Resume.objects.filter(attempts_made__gte=1).count() >= 5, "the breaker opens")
    time.sleep(down)
    tried = sum(Resume.objects.values_list("attempts_made", flat=True))
    down = time.monotonic() - began
    assert tried <= 5 + crew.parallel + down / (30 * crew.conditions["BACKOFF_SECONDS"]) + 1, tried
    back = timezone.now()
    Agent.objects.filter(pk=agent.pk).update(url=address)
    crew.settled()
    assert invariants.deliveries()["ok"] == Counter(finished=deliveries)
    _at_most_five_a_second(crew, deliveries, since=back)
    holds(crew)


def _at_most_five_a_second(crew: Crew, deliveries: int, *, since: datetime) -> None:
    """By when each set out: a busy machine may let them arrive closer together, but all of them never sooner."""
    left = AuditEntry.objects.filter(verb="delivery.leased", at__gte=since).order_by("seq").values_list("at", flat=True)
    times = list(left)
    assert all(sixth - first >= timedelta(seconds=1) for first, sixth in zip(times, times[5:], strict=False)), times
    arrived = max(receipt.at for receipt in crew.witness.resumes()) - since
    assert arrived >= timedelta(seconds=(deliveries - 1) // 5), arrived


def patient(crew: Crew, *, times: int) -> None:
    """R-11: `Retry-After: 7` is kept to: no second try before it, by the witness, and the same bytes then."""
    busy = [crew.agent("http_429"), crew.agent("http_503_retry_after", busy_is_not_taken=True)]
    cases = [case for agent in busy for case in crew.cases(agent, [f"{agent.slug}-{n}" for n in range(times)])]
    crew.spawn()
    for case in cases:
        crew.decide(case)
    crew.until(lambda: len(asked_twice(crew)) == 2 * times, "all are tried again", 120 + 4 * times)
    for tries in asked_twice(crew).values():
        assert all(later.at - earlier.at >= timedelta(seconds=7) for earlier, later in pairwise(tries)), tries
        assert len({receipt.resume for receipt in tries}) == 1, tries


def asked_twice(crew: Crew) -> dict[str, list[Receipt]]:
    """What arrived for each thread that was tried more than once, in order."""
    arrived: dict[str, list[Receipt]] = defaultdict(list)
    for receipt in crew.witness.resumes():
        arrived[receipt.thread_id].append(receipt)
    return {thread: tries for thread, tries in arrived.items() if len(tries) > 1}


def redirected(crew: Crew, *, times: int) -> None:
    """R-12: a redirect is never followed."""
    agent = crew.agent("redirect_to_metadata")
    cases = crew.cases(agent, [f"away-{n}" for n in range(times)])
    crew.spawn()
    for case in cases:
        crew.decide(case)
    crew.settled()
    assert invariants.deliveries() == {"redirect-to-metadata": Counter(rejected=times)}
    assert len(crew.witness.resumes()) == times
    holds(crew)


def resent(crew: Crew, *, times: int) -> None:
    """R-14: a person sends the same bytes again; never when the thread has moved on."""
    agent = crew.agent("effect_then_reset")
    cases = crew.cases(agent, [f"again-{n}" for n in range(2 * times)])
    crew.spawn()
    for case in cases:
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
    cases = crew.cases(agent, [f"moved-{n}" for n in range(times)])
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

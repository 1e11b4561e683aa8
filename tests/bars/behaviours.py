"""R-13: every way in which the fake agent can behave, and how a delivery to it ends."""

from __future__ import annotations

import statistics
import time
from collections import Counter

from agentbridge.models import Agent, Resume, Run
from approvals.models import AuditEntry, Case
from tests.bars import invariants
from tests.bars.crew import Crew
from tests.waiting import PATIENCE

# How a delivery to an agent that nothing is known of ends, for every behaviour of the fake agent that a resume meets.
ENDS = {
    "finished": "ok legal_oddities two_finishes events_after_end no_outcome unknown_things result_for_other_call "
                "no_result other_arguments acts_after_denial acts_each_time idempotent echoes_credentials huge_event "
                "wrong_run_id wrong_thread_id",
    "interrupted_again": "again_new_id again_same again_other_bytes again_fifty langgraph",
    "in_doubt": "reset_after_read reset_mid_answer effect_then_reset hang header_then_hang http_500 slow "
                "http_500_after_effect http_502 http_504 login_page json_instead_of_stream empty_200 garbage gzip_bomb "
                "drip",
    "rejected": "http_503_retry_after http_503_retry_date http_401 http_403 http_404 http_413 http_422 "
                "redirect_to_metadata",
    "agent_error": "error_partial_resume error_invalid_payload error_interrupt_expired error_unknown_interrupt_id "
                   "error_thread_busy error_pending_interrupts error_unknown_interrupt_id_first error_while_running "
                   "clock_ahead",
    "outcome_unknown": "half_event cut_after_started cut_after_result endless_heartbeats",
}  # fmt: skip
GONE = "http_410"  # switches its agent off: whatever was not under way yet waits until somebody switches it on
EXPECTED = {fault: state for state, faults in ENDS.items() for fault in faults.split()}
# These misbehave in the pause already; what they are answered arrives like any other answer.
ODD_PAUSES = {"refuses_partial": "approved", "odd_expiries": "approved", "hostile_texts": "approved",
              "odd_ids": "approved", "hostile_schemas": "cancelled"}  # fmt: skip
# The storm leaves out what only waits for a limit: a minute of it shows nothing more than one delivery does.
STORMY = sorted(set(EXPECTED) - {"hang", "header_then_hang", "drip", "slow", "endless_heartbeats"})


PACE = 0.5  # seconds between two decisions of the person who answers the good agent: quicker than anybody reads


def behaviours(crew: Crew, *, times: int, quick: float | None = None) -> str:
    """Each ends as the table says, none keeps a worker longer than a run may take, good agents are served meanwhile.

    `quick`: within so many seconds, at the 95th percentile, however many answers to others wait; left out where the
    machine is not ours alone. Returns how quick they were.
    """
    agents = {fault: crew.agent(fault) for fault in [*EXPECTED, "http_429", GONE]}
    agents |= {fault: crew.agent(fault, at_start=True) for fault in ODD_PAUSES}
    good = crew.register("good", f"{crew.url}/fault/ok")
    for agent, count in [*((agent, times) for agent in agents.values()), (good, 4 * times)]:
        for n in range(count):
            crew.ask(agent, f"{agent.slug}-{n}")
    crew.have_asked()
    crew.spawn()
    for case in Case.objects.filter(state="open").exclude(agent="good"):
        crew.decide(case, ODD_PAUSES.get(case.agent.replace("-", "_"), "approved"))
    behind = meanwhile(crew, pace=PACE if quick else 0)
    busy = Resume.objects.filter(agent=agents["http_429"])
    told_to_wait = busy.filter(state="ready", attempts_made__gte=1)
    crew.until(lambda: told_to_wait.count() == times, "429 is waited for", 400 + 20 * times)
    Agent.objects.filter(pk=agents["http_429"].pk).update(enabled=False)
    others = Resume.objects.exclude(agent__enabled=False, state="ready")
    crew.until(lambda: not others.filter(state__in=invariants.MOVING).exists(), "the rest ends", 400 + 20 * times)
    as_the_table_says(agents, times)
    none_kept_a_worker(crew)
    waited = [after_deciding(crew, case) for case in Case.objects.filter(agent="good")]
    slowest = statistics.quantiles(waited, n=20)[-1]
    assert quick is None or slowest < quick, (behind, sorted(waited))
    return f"good agents p95 {slowest:.2f} s while {behind[0]} answers to others waited, at the end {behind[-1]}"


def meanwhile(crew: Crew, *, pace: float) -> list[int]:
    """The good agent's questions are answered one after the other; how many answers to others waited each time."""
    unsealed, unsent = Case.objects.filter(state="settled", taken_at=None), Resume.objects.filter(state="ready")
    waiting = []
    for case in Case.objects.filter(agent="good").order_by("pk"):
        waiting.append(unsealed.exclude(agent="good").count() + unsent.exclude(agent__slug="good").count())
        crew.decide(case)
        time.sleep(pace)
    return waiting


def as_the_table_says(agents: dict[str, Agent], times: int) -> None:
    ends = invariants.deliveries()
    expected = {**EXPECTED, **dict.fromkeys(ODD_PAUSES, "finished")}
    wrong = {fault: dict(ends[agent.slug]) for fault, agent in agents.items()
             if fault in expected and ends[agent.slug] != Counter({expected[fault]: times})}  # fmt: skip
    notes = Resume.objects.filter(agent__slug__in=[agents[fault].slug for fault in wrong])
    assert not wrong, (wrong, list(notes.values_list("agent__slug", "state", "note", "attempts__error")))
    assert ends["good"] == Counter(finished=4 * times)
    gone = agents[GONE].slug
    assert not Agent.objects.get(slug=gone).enabled
    assert ends[gone]["rejected"] >= 1 and ends[gone]["rejected"] + ends[gone]["ready"] == times


def none_kept_a_worker(crew: Crew) -> None:
    limit = crew.conditions["RUN_SECONDS"] + PATIENCE  # these agents would keep it for ever
    ended = Run.objects.exclude(armed_at=None).exclude(ended_at=None)
    took = {run.run_id: (run.ended_at - run.armed_at).total_seconds() for run in ended if run.ended_at and run.armed_at}
    assert all(seconds <= limit for seconds in took.values()), took


def after_deciding(crew: Crew, case: Case) -> float:
    """Seconds from the decision to the arrival, by the witness."""
    decided = AuditEntry.objects.filter(verb="task.decided", case=case).order_by("seq")[0].at
    run_ids = set(Run.objects.filter(resume__case=case).values_list("run_id", flat=True))
    arrived = [receipt.at for receipt in crew.witness.resumes() if receipt.run_id in run_ids]
    return (min(arrived) - decided).total_seconds()

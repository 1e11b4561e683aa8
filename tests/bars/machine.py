"""R-29: a desk that lives through anything in any order; after every step the invariants hold.

One database, no network: what an agent would answer is handed to the recorder, and what would have left is kept by the
machine itself, which is the witness. Time is the machine's own.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentbridge.delivery import resuming, sealing, settling
from agentbridge.delivery.moves import IN_FLIGHT
from agentbridge.delivery.tickets import Head, Ticket
from agentbridge.models import Agent, Resume, Run
from agentbridge.models.delivery import WAITING
from agentbridge.runs import queueing, starting
from agentbridge.runs.recorder import Recording
from agentbridge.work import sweeping
from approvals import jsontext, people, reviewing
from approvals.models import Case, Decision, Queue, User
from approvals.models.people import Role
from approvals.refusals import Refused
from tests import bridge_rows
from tests.people import decide, person
from tests.scripted_agent import call, failed, finished, interrupt, result, started

PAUSES = started() + call() + finished(interrupt())
ANSWERS = {
    "ok": started() + result() + finished(), "again": started() + finished(interrupt("int-2")), "nothing": b"",
    "cut": started(), "error": started() + failed("no", "EXPIRED"), "late error": started() + finished() + failed("oh"),
}  # fmt: skip
THREADS = ("one", "two")


@dataclass(frozen=True)
class Furniture:
    """What every life begins with: two people, an agent, and a pause of it on each thread."""

    alice: User
    olga: User
    agent: Agent


def furnish(now: datetime) -> Furniture:
    queue = people.set_queue("payments", now=now)
    alice, olga = person("alice", Role.REVIEWER, "payments"), person("olga", Role.OPERATOR)
    agent = bridge_rows.add_agent(queue)
    for thread in THREADS:
        pause(agent, alice, thread, now)
    return Furniture(alice, olga, agent)


def pause(agent: Agent, by: User, thread: str, now: datetime) -> None:
    run = starting.start(agent, by=by, message="please", thread_id=thread, now=now)
    ticket = queueing.claim(run.pk, owner="w", now=now)
    if ticket is not None:
        queueing.arm(ticket, now=now)
        answered(ticket, PAUSES, now=now)


def answered(ticket: Ticket, body: bytes, *, status: int = 200, now: datetime) -> None:
    """What the recorder makes of an answer, as in the worker."""
    recording = Recording(Run.objects.select_related("thread__agent", "resume__case").get(pk=ticket.run_pk))
    recording.opened(Head(status=status, bytes_sent=len(ticket.body)))
    if body:
        recording.keep(body, now=now)
    recording.close(now=now)


class Desk(RuleBasedStateMachine):
    """One life; `lives` furnishes the desk for all of them. `bodies` holds the answers that left, per sealed set."""

    furniture: Furniture

    @initialize(verified=st.booleans())
    def open_the_desk(self, verified: bool) -> None:
        self.room = transaction.atomic()
        self.room.__enter__()
        self.now = timezone.now()
        self.alice, self.olga, self.verified = self.furniture.alice, self.furniture.olga, verified
        if verified:
            Agent.objects.update(replay_class="verified", replay_set_at=self.now)
        self.agent = Agent.objects.get()
        self.bodies: dict[int, list[bytes]] = defaultdict(list)
        self.allowed: dict[int, int] = defaultdict(int)
        self.leased: list[Ticket] = []
        self.armed: list[Ticket] = []

    def teardown(self) -> None:
        if hasattr(self, "room"):
            transaction.set_rollback(True)
            self.room.__exit__(None, None, None)

    @rule(seconds=st.sampled_from([1, 20, 40, 2000]))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(thread=st.sampled_from(THREADS))
    def the_agent_pauses(self, thread: str) -> None:
        with suppress(Refused):
            pause(self.agent, self.alice, thread, self.now)

    @rule(verdict=st.sampled_from(["approved", "rejected", "cancelled"]), data=st.data())
    def somebody_decides(self, verdict: str, data: Any) -> None:
        cases = list(Case.objects.filter(state="open").order_by("pk"))
        if cases:
            task = data.draw(st.sampled_from(cases)).tasks.get()
            edits = '{"amount":1.0}' if verdict == "approved" and data.draw(st.booleans()) else None
            with suppress(Refused):
                decide(task, self.alice, verdict, edits=edits, now=self.now)

    @rule()
    def somebody_recalls(self) -> None:
        for case in Case.objects.filter(state="settled")[:1]:
            with suppress(Refused):
                reviewing.recall(case, by=self.alice, now=self.now)

    @rule(seconds=st.sampled_from([5, 60, 600]))
    def a_deadline_is_near(self, seconds: int) -> None:
        for case in Case.objects.filter(state__in=["open", "settled"], deadline=None, taken_at=None)[:1]:
            at = self.now + timedelta(seconds=seconds)
            case.tasks.update(deadline=at)
            Case.objects.filter(pk=case.pk).update(deadline=at)

    @rule()
    def a_right_is_gone_for_a_while(self) -> None:
        if not Case.objects.filter(state="open").exists():
            return
        queue = Queue.objects.get()
        queue.members.remove(self.alice)
        before = Decision.objects.count()
        self.somebody_decides_something()
        assert Decision.objects.count() == before, "I10"
        queue.members.add(self.alice)

    @rule(what=st.sampled_from(sorted(ANSWERS)))
    def all_goes_its_way(self, what: str) -> None:
        """The usual order, so that most lives see some of it."""
        self.somebody_decides_something()
        self.now += timedelta(seconds=11)
        self.a_worker_looks()
        if self.leased:
            self.worker_arms(self.leased.pop())
        if self.armed:
            answered(self.armed.pop(), ANSWERS[what], now=self.now)

    def somebody_decides_something(self) -> None:
        for case in Case.objects.filter(state="open")[:1]:
            with suppress(Refused):
                decide(case.tasks.get(), self.alice, "approved", now=self.now)

    @rule()
    def a_worker_looks(self) -> None:
        for case in sealing.due(self.now):
            sealing.seal(case, now=self.now)
        for pk, _agent in resuming.claimable(self.now, closed=set(), limit=1):
            ticket = resuming.claim(pk, owner="w", now=self.now)
            self.leased += [ticket] if ticket is not None else []

    @rule()
    def a_fault_of_ours_blocks(self) -> None:
        for case in Case.objects.filter(state="settled", sent_at=None)[:1]:
            sealing.set_aside(case, now=self.now)

    @rule()
    def an_operator_unblocks(self) -> None:
        for case in Case.objects.exclude(blocked="")[:1]:
            with suppress(Refused):
                settling.unblock(case, reason="mended", by=self.olga, now=self.now)

    @precondition(lambda self: self.leased)
    @rule(data=st.data())
    def a_worker_arms(self, data: Any) -> None:
        self.worker_arms(self.leased.pop(data.draw(st.integers(0, len(self.leased) - 1))))

    def worker_arms(self, ticket: Ticket) -> None:
        try:
            resuming.arm(ticket, now=self.now)
        except (resuming.NotArmed, Refused) as reason:
            resuming.put_back(ticket, sentence=str(reason), now=self.now)
            return
        assert ticket.resume_pk is not None
        resume = Resume.objects.select_related("case").get(pk=ticket.resume_pk)
        deadline = resume.case.deadline
        assert deadline is None or self.now < deadline or resume.n > 1, "I7: armed after the deadline"
        self.bodies[resume.pk].append((jsontext.member(ticket.body.decode(), "resume") or "").encode())
        self.armed.append(ticket)

    @precondition(lambda self: self.armed)
    @rule(what=st.sampled_from(sorted(ANSWERS)), status=st.sampled_from([200, 200, 409, 500, 429]), data=st.data())
    def the_agent_answers(self, what: str, status: int, data: Any) -> None:
        ticket = self.armed.pop(data.draw(st.integers(0, len(self.armed) - 1)))
        answered(ticket, ANSWERS[what] if status == 200 else b"no", status=status, now=self.now)

    @precondition(lambda self: self.armed)
    @rule(data=st.data())
    def a_worker_stood_still_after_arming(self, data: Any) -> None:
        """It wakes and sends nothing, whatever others made of it meanwhile."""
        ticket = self.armed.pop(data.draw(st.integers(0, len(self.armed) - 1)))
        assert ticket.resume_pk is not None
        resuming.put_back(ticket, sentence="It stood still.", now=self.now)
        self.bodies[ticket.resume_pk].pop()

    @rule()
    def the_worker_is_lost(self) -> None:
        self.leased.clear()
        self.now += timedelta(seconds=3600)
        sweeping.sweep(self.now)

    @rule(action=st.sampled_from(["resend", "mark_done", "answer_again", "abandon"]))
    def an_operator_settles(self, action: str) -> None:
        for resume in Resume.objects.filter(state__in=WAITING)[:1]:
            with suppress(Refused):
                settling.resolve_doubt(resume.case, action=action, reason="seen", by=self.olga, now=self.now)
                self.allowed[resume.pk] += action == "resend"

    @rule(action=st.sampled_from(["send_cancelled", "abandon"]))
    def an_operator_closes(self, action: str) -> None:
        for case in Case.objects.expired(self.now)[:1]:
            with suppress(Refused):
                settling.close_expired(case, action=action, reason="late", by=self.olga, now=self.now)

    @invariant()
    def what_left_is_what_was_sealed(self) -> None:
        bodies = getattr(self, "bodies", None)
        if not bodies:
            return
        for pk, sealed in Resume.objects.filter(pk__in=bodies).values_list("pk", "entries"):
            assert all(body == bytes(sealed) for body in bodies[pk]), "I3"
            assert self.verified or len(bodies[pk]) <= 1 + self.allowed[pk], "I4"

    @invariant()
    def one_live_decision_and_one_delivery(self) -> None:
        if hasattr(self, "room"):
            live = list(Decision.objects.live().values_list("task", flat=True))
            assert len(live) == len(set(live)), "I2"
            flying = list(Resume.objects.filter(state__in=IN_FLIGHT).values_list("thread", flat=True))
            assert len(flying) == len(set(flying))

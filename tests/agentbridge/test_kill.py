"""`kill -9` between any two commits: nothing acknowledged is lost, nothing is sent twice (`delivery.md` C.6, R-03)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q
from django.utils import timezone

from agentbridge.delivery import resuming, sealing, settling
from agentbridge.models import Incident, Resume, Run
from agentbridge.work import leases, sweeping
from approvals.models import AuditEntry, Case, User
from tests.bridge_work import Script, ask, delivery, paused_case, register, work
from tests.people import decide, in_seconds, only_task, verbs
from tests.scripted_agent import (
    Answer,
    ScriptedAgent,
    call,
    failed,
    finished,
    finishing,
    frame,
    interrupt,
    pausing,
    result,
    started,
)
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).parents[2]


def whole(answer: Answer) -> Answer:
    """The same in one piece, so that what a chunk holds is not a matter of luck."""
    return Answer([b"".join(part for part in answer.parts if isinstance(part, bytes))])


def database_url() -> str:
    told = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{told['NAME']}"
    login = f"{told['USER']}:{told['PASSWORD']}" if told["PASSWORD"] else told["USER"]
    return f"postgres://{login}@{told['HOST']}:{told['PORT']}/{told['NAME']}"


def bridge(**environment: str) -> subprocess.Popen[bytes]:
    given = {
        **os.environ, "DATABASE_URL": database_url(), "UNDO_SECONDS": "0", "EXPIRY_MARGIN_SECONDS": "1",
        "DJANGO_SETTINGS_MODULE": "config.settings", **environment,
    }  # fmt: skip
    words = [sys.executable, "manage.py", "bridge", "--once"]
    return subprocess.Popen(words, cwd=ROOT, env=given, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def killed_at(point: str) -> None:
    process = bridge(CRASH_AT=point)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL, errors.decode()


def recover() -> None:
    """The leases of the dead run out, and another worker works for as long as anything is still under way."""
    lapse()
    until(comes_to_rest, "the end of every delivery")


def lapse() -> None:
    past = timezone.now() - timedelta(seconds=1)
    Resume.objects.filter(lease_until__isnull=False).update(lease_until=past)
    Run.objects.filter(lease_until__isnull=False).update(lease_until=past)


def comes_to_rest() -> bool:
    work()
    moving = Q(state__in=["ready", "leased", "armed", "accepted"])
    return not Resume.objects.filter(moving).exists() and not Run.objects.in_flight().exists()


@pytest.fixture
def agent(script: Script) -> ScriptedAgent:
    return script(whole(pausing()), whole(finishing()))


@pytest.fixture
def case(agent: ScriptedAgent, alice: User) -> Case:
    found = paused_case(register(agent), alice)
    decide(only_task(found), alice)
    return found


TABLE = [
    pytest.param("sealed", "finished", 1, id="after sealing"),
    pytest.param("claimed", "finished", 1, id="after claiming"),
    pytest.param("armed", "in_doubt", 0, id="after arming, before the first byte"),
    pytest.param("sent", "in_doubt", 1, id="after sending"),
    pytest.param("chunk_stored", "finished", 1, id="after storing, before reading"),
    pytest.param("before_conclude", "finished", 1, id="before the end is written"),
    pytest.param("concluded", "finished", 1, id="after the end is written"),
]


@pytest.mark.parametrize(("point", "state", "posts"), TABLE)
def test_a_killed_delivery_ends_as_the_table_says(
    agent: ScriptedAgent, case: Case, point: str, state: str, posts: int
) -> None:
    killed_at(point)
    recover()

    assert delivery(case).state == state
    assert len(agent.resumes) == posts
    assert Resume.objects.filter(case=case).count() == 1
    told = verbs(case)
    assert [told.count(verb) for verb in ("resume.sealed", "task.decided", f"delivery.{state}")] == [1, 1, 1]


def test_a_resend_by_a_person_carries_the_same_bytes(agent: ScriptedAgent, case: Case, olga: User) -> None:
    killed_at("sent")
    recover()
    settling.resolve_doubt(case, action="resend", reason="the ledger is empty", by=olga, now=timezone.now())
    recover()

    assert delivery(case).state == "finished"
    first, second = agent.resumes
    assert first == second
    assert agent.posts[1].json["runId"] != agent.posts[2].json["runId"]


FIRST = [
    pytest.param("run_armed", "unknown", 0, id="after arming"),
    pytest.param("sent", "unknown", 1, id="after sending"),
    pytest.param("chunk_stored", "interrupted", 1, id="after storing, before reading"),
    pytest.param("before_conclude", "interrupted", 1, id="before the end is written"),
    pytest.param("concluded", "interrupted", 1, id="after the end is written"),
]


@pytest.mark.parametrize(("point", "status", "posts"), FIRST)
def test_a_killed_first_run_is_never_sent_twice(
    agent: ScriptedAgent, alice: User, point: str, status: str, posts: int
) -> None:
    run = ask(register(agent), alice)
    killed_at(point)
    recover()

    run.refresh_from_db()
    assert (run.status, len(agent.posts)) == (status, posts)
    assert Case.objects.count() == (status == "interrupted")


CALL = {"id": "tc-1", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 12.50}'}}
RETOLD = frame(
    type="MESSAGES_SNAPSHOT",
    messages=[
        {"id": "a", "role": "assistant", "toolCalls": [CALL]},
        {"id": "m", "role": "tool", "toolCallId": "tc-1", "content": "paid"},
    ],
)
OPEN = frame(type="MESSAGES_SNAPSHOT", messages=[{"id": "a", "role": "assistant", "toolCalls": [CALL]}])


@pytest.mark.parametrize("stream", [RETOLD + finished() + failed("late"), result("paid") + finished() + failed("late")])
@pytest.mark.parametrize("point", ["before_conclude", "concluded"])
def test_what_was_said_with_the_end_and_after_it_is_not_lost(
    script: Script, alice: User, point: str, stream: bytes
) -> None:
    asking = Answer([started() + call() + OPEN + finished(interrupt())])
    case = paused_case(register(script(asking, Answer([started() + stream]))), alice)
    decide(only_task(case), alice)
    killed_at(point)
    recover()

    assert (delivery(case).state, verbs(case).count("task.result")) == ("finished", 1)
    assert [incident.kind for incident in Incident.objects.filter(case=case)] == ["late_error"]
    assert not Run.objects.filter(lease_until__isnull=False).exists()


def test_a_stream_that_kills_its_readers_goes_to_a_person(case: Case) -> None:
    for _ in range(1 + leases.READERS):
        killed_at("before_conclude")
        lapse()
    recover()

    assert (delivery(case).state, delivery(case).lost_leases) == ("outcome_unknown", 1)
    assert delivery(case).note == "Three workers were lost on this delivery; it needs a person."


def test_a_first_stream_that_kills_its_readers_is_unknown(agent: ScriptedAgent, alice: User) -> None:
    run = ask(register(agent), alice)
    for _ in range(1 + leases.READERS):
        killed_at("before_conclude")
        lapse()
    recover()

    run.refresh_from_db()
    assert (run.status, run.lease_until) == ("unknown", None)
    told = AuditEntry.objects.get(verb="run.unknown").sentence
    assert told == "Three workers were lost on this run: what became of it is not known."


def test_a_worker_that_wakes_after_its_lease_sends_nothing(agent: ScriptedAgent, case: Case, settings: Any) -> None:
    """R-05: between claiming and arming; the lease passes to others meanwhile."""
    now = timezone.now()
    resume = sealing.seal(case, now=now)
    assert resume is not None
    ticket = resuming.claim(resume.pk, owner="sleeper", now=now)
    assert ticket is not None
    sweeping.sweep(in_seconds(settings.LEASE_SECONDS + 1))
    with pytest.raises(resuming.NotArmed):
        resuming.arm(ticket, now=timezone.now())
    assert delivery(case).state == "ready"

"""The bridge in one process, for stories that need no kill: an agent, a run, the worker's work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from agentbridge import registering
from agentbridge.delivery import backoff
from agentbridge.models import Agent, Resume, Run
from agentbridge.runs import starting
from agentbridge.work import delivering
from agentbridge.work import worker as at_work
from agentbridge.work.worker import Worker
from approvals.models import Case, User
from tests.scripted_agent import Answer, ScriptedAgent
from tests.waiting import PATIENCE

Script = Callable[..., ScriptedAgent]
A_WHILE = timedelta(seconds=30)


@pytest.fixture
def quick(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No undo window, and waits that a test can sit through."""
    settings.UNDO_SECONDS = 0
    settings.EXPIRY_MARGIN_SECONDS = 1
    settings.BACKOFF_SECONDS = 0.05
    settings.CONNECT_SECONDS = settings.FIRST_EVENT_SECONDS = settings.IDLE_SECONDS = PATIENCE
    for limit in ("SEAL_SECONDS", "CLAIM_SECONDS"):
        monkeypatch.setattr(at_work, limit, PATIENCE)  # one look seals and claims whatever is there
    monkeypatch.setattr(delivering, "STALE_SECONDS", PATIENCE)  # and sends it, however long a commit takes


@pytest.fixture
def unhurried(quick: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not taken is due again in minutes, so that one `work()` is one try; `due_again` brings the next."""
    settings.BACKOFF_SECONDS = 100
    monkeypatch.setattr(backoff, "JITTER", SimpleNamespace(uniform=max))


@pytest.fixture
def script(quick: None) -> Iterator[Script]:
    """`agent = script(answer, …)` plays these answers, one per request."""
    with ExitStack() as stack:
        yield lambda *answers: stack.enter_context(ScriptedAgent(answers))


def register(scripted: ScriptedAgent, **wanted: Any) -> Agent:
    given = {"slug": "payer", "url": scripted.url, "name": "Payer", "queue": "payments", **wanted}
    return registering.register(registering.Wanted(**given), now=timezone.now())[0]


def ask(agent: Agent, by: User, **more: Any) -> Run:
    return starting.start(agent, by=by, now=timezone.now(), **{"message": "please", "thread_id": "thread-1", **more})


def work(worker: Worker | None = None, once: bool = True) -> None:
    """What `manage.py bridge --once` does."""
    asyncio.run((worker or Worker()).run(once=once))


def due_again() -> None:
    """The waits are over."""
    Resume.objects.update(next_try_at=timezone.now())


def work_until_it_rests() -> None:
    """Until nothing is tried again by itself for a while, however long the single waits were."""
    waiting = Resume.objects.filter(state="ready", replaced_at=None)
    while True:
        work()
        if not waiting.filter(next_try_at__lt=timezone.now() + A_WHILE).exists():
            return
        time.sleep(0.05)


def paused_case(agent: Agent, by: User, **more: Any) -> Case:
    """Ask for a run, let the worker make it, and hand out the case that it opened."""
    ask(agent, by, **more)
    work()
    return Case.objects.latest("pk")


def delivery(case: Case) -> Resume:
    return Resume.objects.get(case=case, replaced_at=None)


__all__ = [
    "Answer", "Script", "ask", "delivery", "due_again", "paused_case", "quick", "register", "script", "unhurried",
    "work", "work_until_it_rests",
]  # fmt: skip

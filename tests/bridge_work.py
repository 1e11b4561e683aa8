"""The bridge in one process, for stories that need no kill: an agent, a run, the worker's work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.utils import timezone

from agentbridge import registering
from agentbridge.models import Agent, Resume, Run
from agentbridge.runs import starting
from agentbridge.work.worker import Worker
from approvals.models import Case, User
from tests.scripted_agent import Answer, ScriptedAgent

Script = Callable[..., ScriptedAgent]


@pytest.fixture
def quick(settings: Any) -> None:
    """No undo window, and waits that a test can sit through."""
    settings.UNDO_SECONDS = 0
    settings.EXPIRY_MARGIN_SECONDS = 1
    settings.BACKOFF_SECONDS = 0.05
    settings.CONNECT_SECONDS = settings.FIRST_EVENT_SECONDS = settings.IDLE_SECONDS = 1


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


def paused_case(agent: Agent, by: User, **more: Any) -> Case:
    """Ask for a run, let the worker make it, and hand out the case that it opened."""
    ask(agent, by, **more)
    work()
    return Case.objects.latest("pk")


def delivery(case: Case) -> Resume:
    return Resume.objects.get(case=case, replaced_at=None)


__all__ = ["Answer", "Script", "ask", "delivery", "paused_case", "quick", "register", "script", "work"]

"""The official TypeScript client, unchanged, against the relay: the code is that of `docs/owners/chat-ui.md`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections

from agentbridge.models import Agent
from approvals.models import Case, Decision, User
from tests.agentbridge.ways.desk import Outside, outside
from tests.bridge_work import Script, quick, script, work
from tests.node.programs import DECIDE, RUN, WAIT, begin, told
from tests.people import decide, only_task
from tests.scripted_agent import finishing, pausing
from tests.served import served
from tests.waiting import until

__all__ = ["quick", "script"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.node, pytest.mark.node_client]


@pytest.fixture
def web(quick: None, transactional_db: None) -> Iterator[str]:
    with served() as url:
        yield url


def talk(caller: Outside, code: str) -> list[str]:
    return told(begin(code, desk=caller.address(), token=caller.tokens.caller))


def when(holds: Callable[[], Any], deed: Callable[[], Any]) -> threading.Thread:
    """Somebody at the desk, beside the program."""

    def act() -> None:
        try:
            until(holds)
            deed()
        finally:
            connections.close_all()

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def test_the_client_sees_the_pause_and_then_what_the_reviewer_decided(web: str, script: Script, alice: User) -> None:
    agent = script(pausing(), finishing())
    caller = outside(web, agent)

    def decided() -> None:
        decide(only_task(Case.objects.get()), alice)
        work()

    reviewer = when(Case.objects.exists, decided)
    assert talk(caller, RUN + WAIT) == ["[ 'May I?' ]", "paid"]
    reviewer.join()
    assert Decision.objects.get().by == alice and Case.objects.get().state == "delivered"


def test_the_client_decides_itself_and_gets_the_run(web: str, script: Script) -> None:
    agent = script(pausing(), finishing())
    caller = outside(web, agent)
    Agent.objects.update(caller_decides=True)
    bridge = when(Decision.objects.exists, work)
    assert talk(caller, RUN + DECIDE) == ["[ 'May I?' ]", "paid"]
    bridge.join()
    assert Decision.objects.get().by_kind == "caller" and agent.posts[1].json["runId"] == "run-2"


def test_the_client_is_told_when_the_thread_waits(web: str, script: Script) -> None:
    caller = outside(web, script(pausing()))
    caller.run()
    refused = "try { await agent.runAgent({ runId: 'run-9' }) } catch (error) { console.log(error.message) }"
    assert "409" in talk(caller, RUN.replace('await agent.runAgent({ runId: "run-1" });', refused))[0]

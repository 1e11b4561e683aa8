"""A token that was replaced stops working at once: it opens nothing, and nothing stays open by it."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest
from django.utils import timezone

from agentbridge import registering
from agentbridge.models import Resume
from agentbridge.ways import following, pull
from approvals.models import Case, User
from tests.agentbridge.ways.desk import Outside, heard, outside
from tests.agentbridge.ways.test_push_and_pull import DOCUMENT
from tests.bridge_work import Script, work
from tests.people import decide, only_task
from tests.scripted_agent import finishing
from tests.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)
LONG = 10 * PATIENCE


def replace(outsider: Outside) -> None:
    wanted = registering.Wanted(slug=outsider.agent.slug, url=outsider.agent.url)
    registering.register(wanted, new_token=True, now=timezone.now())


def test_a_host_that_waited_by_it_is_handed_nothing(web: str, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    host, looked, told = outside(web), threading.Event(), []
    hand_out = pull.hand_out
    monkeypatch.setattr(pull, "LONGEST_WAIT", LONG)
    monkeypatch.setattr(pull, "hand_out", lambda agent: (looked.set(), hand_out(agent))[1])
    host.push(DOCUMENT)
    ask: dict[str, Any] = {"headers": host.headers("host"), "timeout": LONG}
    waiting = threading.Thread(target=lambda: told.append(httpx.get(host.address(f"/resumes?wait={LONG}"), **ask)))
    waiting.start()
    assert looked.wait(PATIENCE)
    replace(host)
    decide(only_task(Case.objects.get()), alice)
    work()
    waiting.join()
    assert told[0].status_code == 401 and Resume.objects.get().state == "ready"


def test_a_listener_who_came_by_it_hears_no_more(web: str, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "RIGHTS_SECONDS", 0.0)
    monkeypatch.setattr(following, "KEEP_ALIVE_SECONDS", LONG)  # one that stays open is silent for too long
    caller = outside(web, script(finishing()))
    caller.run()
    ask: dict[str, Any] = {"headers": caller.headers("caller"), "timeout": PATIENCE}
    with httpx.stream("GET", caller.address("/threads/thread-1/events"), **ask) as answer:
        parts = answer.iter_raw()
        heard(parts, b"RUN_FINISHED")
        replace(caller)
        assert b"data:" not in b"".join(parts)
    assert httpx.get(caller.address("/threads/thread-1/events"), **ask).status_code == 401

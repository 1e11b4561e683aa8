"""A reviewer and a caller answer in one moment. Who wins is chance, and so is what is told: no list holds it."""

from __future__ import annotations

import contextlib
import threading

import pytest

from approvals.models import Case, Decision, User
from approvals.refusals import AlreadyDecided
from tests.agentbridge.ways.test_callers import NO, YES, answers, bridge, caller
from tests.bridge_work import Script
from tests.people import decide, only_task
from tests.scripted_agent import finishing, pausing
from tests.trails import good
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


def test_t98_a_reviewer_and_a_caller_at_once_make_one_decision(web: str, script: Script, alice: User) -> None:
    agent = script(pausing(), finishing())
    asking = caller(web, agent)
    task, codes = only_task(Case.objects.get()), []
    calling = threading.Thread(target=lambda: codes.append(asking.run(answers(NO)).status_code))
    with bridge():
        calling.start()
        with contextlib.suppress(AlreadyDecided):
            decide(task, alice)
        calling.join()
        until(lambda: agent.resumes)
    said = {"person": [[YES]], "caller": [[NO]]}[Decision.objects.get().by_kind]
    assert agent.resumes == said and codes == [200 if said == [[NO]] else 409]
    good()

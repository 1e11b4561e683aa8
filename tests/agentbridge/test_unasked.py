"""The trail also tells what a run did that nobody was asked about."""

from __future__ import annotations

import json
from typing import Any

import pytest

from approvals.models import AuditEntry, User
from tests.bridge_work import Script, paused_case, register, work
from tests.people import decide, only_task
from tests.scripted_agent import Answer, call, finished, finishing, pausing, result, started

pytestmark = pytest.mark.django_db(transaction=True)


def unasked() -> list[tuple[str, list[dict[str, Any]]]]:
    entries = AuditEntry.objects.filter(verb="run.unasked").order_by("seq")
    return [(entry.sentence, json.loads(entry.data)["calls"]) for entry in entries]


def test_a_call_beside_the_question_is_told_with_its_result(script: Script, alice: User) -> None:
    beside = call(name="list_files", args="{}", id_="tc-0") + call() + result("a,b", "tc-0")
    paused_case(register(script(pausing(calls=beside))), alice)
    [(sentence, calls)] = unasked()
    assert sentence == "Tool calls that nobody here was asked about: 1, with a result: 1."
    assert calls == [{"toolCallId": "tc-0", "name": "list_files", "state": "complete", "results": 1}]


def test_what_was_asked_about_is_not_told_again(script: Script, alice: User) -> None:
    case = paused_case(register(script(pausing(), finishing())), alice)
    decide(only_task(case), alice, "approved")
    work()
    assert unasked() == []


def test_a_resumed_run_tells_what_it_did_on_its_own(script: Script, alice: User) -> None:
    more = Answer([started(), result(), call(name="wipe", id_="tc-9"), finished()])
    case = paused_case(register(script(pausing(), more)), alice)
    decide(only_task(case), alice, "approved")
    work()
    [(sentence, [wiped])] = unasked()
    assert sentence.endswith("about: 1, with a result: 0.")
    assert (wiped["toolCallId"], wiped["results"]) == ("tc-9", 0)
    assert AuditEntry.objects.get(verb="run.unasked").case == case
